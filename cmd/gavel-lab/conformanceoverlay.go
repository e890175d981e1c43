package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/mutant/overlay"
)

func overlayCommand() *cli.Command {
	return &cli.Command{
		Name:  "overlay",
		Usage: "write copies of our services' sources with mutants inside, and print the file for go build -overlay",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "source", Value: ".", TakesFile: true, Usage: "folder of gavel's sources"},
			&cli.StringFlag{Name: "into", Value: "bin/overlay", TakesFile: true, Usage: "folder for the copies"},
		},
		Action: func(_ context.Context, cmd *cli.Command) error {
			return writeOverlay(cmd.String("source"), cmd.String("into"))
		},
	}
}

// writeOverlay writes the overlay of the mutants inside our services, and prints its path.
func writeOverlay(source, into string) error {
	root, err := filepath.Abs(source)
	if err != nil {
		return fmt.Errorf("find the sources: %w", err)
	}
	if _, err := os.Stat(filepath.Join(root, "conformance", "mutant", "overlay")); err != nil {
		return app.Mistake("%s has no sources of gavel: give --source", source)
	}
	folder, err := filepath.Abs(into)
	if err != nil {
		return fmt.Errorf("find the folder for copies: %w", err)
	}
	file, err := overlay.Write(root, folder)
	if err != nil {
		return err
	}
	fmt.Println(file)
	return nil
}
