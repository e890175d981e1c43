package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/report"
)

// Publication is a folder with published reports: NAME.md and NAME.shields.json for each, and
// matrix.html of all.
type Publication struct {
	Dir string
	// Reports are the runs to publish, by the names of their pages, as NAME=report.json.
	Reports []string
	Out     io.Writer
}

// Publish writes the folder anew, or checks it. It returns a Status if a verdict is stale.
func (p Publication) Publish(check bool) error {
	if len(p.Reports) == 0 {
		return Mistake("no report: give NAME=report.json for each")
	}
	if !check {
		return p.Write()
	}
	stale, err := p.Check()
	if err == nil && stale > 0 {
		err = Status{clauses.Nonconformant, fmt.Sprintf("%d published verdicts are stale: publish the runs anew", stale)}
	}
	return err
}

// Write writes the folder anew.
func (p Publication) Write() error {
	var all []*report.Report
	for _, named := range p.Reports {
		name, r, err := p.read(named)
		if err != nil {
			return err
		}
		all = append(all, r)
		if err := errors.Join(p.create(name+".md", r.Published), p.create(name+".shields.json", r.Shields)); err != nil {
			return err
		}
	}
	return WriteMatrix(filepath.Join(p.Dir, "matrix.html"), all)
}

// Check compares what is published with the runs, by the verdicts alone: times and messages may
// differ. It returns how many verdicts on MUSTs are stale. Other differences are only told.
func (p Publication) Check() (stale int, err error) {
	for _, named := range p.Reports {
		name, r, err := p.read(named)
		if err != nil {
			return 0, err
		}
		file, err := os.Open(filepath.Join(p.Dir, name+".md"))
		if err != nil {
			return 0, Mistake("check what is published: %v", err)
		}
		published, err := report.Verdicts(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return 0, Mistake("%s.md: %v", name, err)
		}
		d := r.Compare(published)
		for _, line := range slices.Concat(d.Stale, d.Noted) {
			fmt.Fprintf(p.Out, "%s: %s\n", name, line)
		}
		fmt.Fprintf(p.Out,
			"%s: %d verdicts are published, %d MUSTs of them stale, %d others differ; %d are not published yet\n", name,
			len(published), len(d.Stale), len(d.Noted), len(d.Added))
		stale += len(d.Stale)
	}
	return stale, nil
}

// read reads a run that is given as NAME=report.json.
func (p Publication) read(named string) (name string, r *report.Report, err error) {
	name, file, is := strings.Cut(named, "=")
	if !is || name == "" || name != filepath.Base(name) {
		return "", nil, Mistake("%q: give reports as NAME=report.json", named)
	}
	if r, err = report.ReadFile(file); err != nil {
		return "", nil, Mistake("%s: %v", file, err)
	}
	if who := &r.Target.Implementation; who.Project == "target" { // it was given by its URL or command alone
		who.Project = name
	}
	return name, r, nil
}

// create writes one file of the folder.
func (p Publication) create(name string, write func(io.Writer) error) error {
	file, err := os.Create(filepath.Join(p.Dir, name))
	if err != nil {
		return Mistake("publish: %v", err)
	}
	return errors.Join(write(file), file.Close())
}
