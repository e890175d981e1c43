package clauses

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed catalogue/*.yaml sections.yaml
var files embed.FS

// Section is a part of the description, and what it states.
type Section struct {
	Name string `yaml:"name"`
	// Statements are its numbered sentences, or the rows of its tables.
	Statements []string `yaml:"statements"`
}

// Catalogue has all clauses in the order of their ids, and the sections of the description.
type Catalogue struct {
	Clauses  []Clause
	Sections []Section

	byID map[string]int
}

// group is how a catalogue's file writes clauses: what they have in common is written once.
type group struct {
	Says    list    `yaml:"says"`
	Source  string  `yaml:"source"`
	Profile string  `yaml:"profile"`
	Feature string  `yaml:"feature"`
	Mode    string  `yaml:"mode"`
	Clauses []entry `yaml:"clauses"`
}

type entry struct {
	ID         string `yaml:"id"`
	Level      Level  `yaml:"level"`
	Rule       string `yaml:"rule"`
	Says       list   `yaml:"says"`
	Source     string `yaml:"source"`
	Quote      string `yaml:"quote"`
	Paraphrase bool   `yaml:"paraphrase"`
	Feature    string `yaml:"feature"`
	Setting    string `yaml:"setting"`
	Mode       string `yaml:"mode"`
	Disputed   string `yaml:"disputed"`
	Heavy      string `yaml:"heavy"`
	Unproven   string `yaml:"unproven"`
	Retired    string `yaml:"retired"`
}

// list is one text or several.
type list []string

// UnmarshalYAML reads either form.
func (l *list) UnmarshalYAML(raw []byte) error {
	var one string
	if err := yaml.Unmarshal(raw, &one); err == nil {
		*l = list{one}
		return nil
	}
	var many []string
	if err := yaml.Unmarshal(raw, &many); err != nil {
		return fmt.Errorf("says is neither a text nor a list: %w", err)
	}
	*l = many
	return nil
}

// Load reads the catalogue that is embedded in this program. An error means that the program was
// built with a wrong catalogue.
func Load() (*Catalogue, error) { return Read(files) }

// Read reads sections.yaml and catalogue/*.yaml and checks them. If all can be read, the error
// names every fault with its clause.
func Read(from fs.FS) (*Catalogue, error) {
	c := &Catalogue{byID: map[string]int{}}
	if err := decode(from, "sections.yaml", &c.Sections); err != nil {
		return nil, err
	}
	names, err := fs.Glob(from, "catalogue/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the catalogue: %w", err)
	}
	for _, name := range names {
		var groups []group
		if err := decode(from, name, &groups); err != nil {
			return nil, err
		}
		for _, g := range groups {
			for _, e := range g.Clauses {
				clause, err := e.makeClause(g)
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", path.Base(name), e.ID, err)
				}
				c.Clauses = append(c.Clauses, clause)
			}
		}
	}
	sort.SliceStable(c.Clauses, func(i, j int) bool { return c.Clauses[i].order() < c.Clauses[j].order() })
	for i, clause := range c.Clauses {
		c.byID[clause.ID] = i
	}
	return c, errors.Join(c.check()...)
}

// order is the sort key of a clause: interfaces in the order of the description, then operations
// and numbers.
func (c Clause) order() string {
	place := strings.NewReplacer("REL", "1", "GLO", "1Z", "STR", "2", "RPC", "3", "SID", "4", "BLD", "5")
	return place.Replace(c.ID[:min(3, len(c.ID))]) + c.ID
}

func decode(from fs.FS, name string, into any) error {
	data, err := fs.ReadFile(from, name)
	if err != nil {
		return fmt.Errorf("read the catalogue: %w", err)
	}
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// makeClause makes the clause of an entry: members that the entry leaves out are those of its
// group.
func (e entry) makeClause(g group) (Clause, error) {
	c := Clause{
		ID: e.ID, Level: e.Level, Rule: e.Rule, Says: e.Says, Source: cmp.Or(e.Source, g.Source), Quote: e.Quote,
		Paraphrase: e.Paraphrase, Profile: g.Profile,
		Feature: cmp.Or(e.Feature, g.Feature),
		Setting: e.Setting, Disputed: e.Disputed, Heavy: e.Heavy, Unproven: e.Unproven, Retired: e.Retired,
	}
	if len(c.Says) == 0 {
		c.Says = g.Says
	}
	var err error
	c.Mode, err = ParseMode(cmp.Or(e.Mode, g.Mode, "black"))
	return c, err
}

// Clause returns the clause with this id.
func (c *Catalogue) Clause(id string) (Clause, bool) {
	i, ok := c.byID[id]
	if !ok {
		return Clause{}, false
	}
	return c.Clauses[i], true
}

// Match returns the clauses whose id fits the pattern, in which * stands for any text, such as
// REL-HDR-*.
func (c *Catalogue) Match(pattern string) []Clause {
	var found []Clause
	for _, clause := range c.Clauses {
		if ok, err := path.Match(pattern, clause.ID); ok && err == nil {
			found = append(found, clause)
		}
	}
	return found
}
