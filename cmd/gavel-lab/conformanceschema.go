package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/suite"
)

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name: "schema",
		Usage: "write the OpenAPI documents of relay and stream and the OpenRPC document of the RPC, by which answers are " +
			"judged",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Value: "schemas", TakesFile: true, Usage: "folder for the documents"},
		},
		Action: func(_ context.Context, cmd *cli.Command) error { return writeSchemas(cmd.String("out")) },
	}
}

// writeSchemas writes the documents into a folder, and makes the folder if there is none.
func writeSchemas(folder string) error {
	documents, err := suite.DocumentFiles()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { // everybody may read them
		return fmt.Errorf("make the folder for documents: %w", err)
	}
	for name, text := range documents {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil { // everybody may read them
			return fmt.Errorf("write a document: %w", err)
		}
	}
	fmt.Printf("%d documents in %s\n", len(documents), folder)
	return nil
}
