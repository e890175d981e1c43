package clauses

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ownSource matches sources that are the description itself. Its statements are named in says, and
// stand in docs/spec.md.
// What the relay serves from gloas on, where no specification says it, stands in docs/gloas.md.
var ownSource = regexp.MustCompile(`\bdescription\b|^docs/(spec|gloas)\.md,`)

// placedSource matches sources that name a document, its version, and a place in it.
var placedSource = regexp.MustCompile(
	`^(builder-specs v[0-9]+\.[0-9]+\.[0-9]+|(builder|relay)-specs [0-9a-f]{7}|beacon-APIs [0-9a-f]{7}|` +
		`consensus-specs v[0-9a-z.-]+), [^ ,]+, .+|^RFC [0-9]+, [0-9.]+$`)

var idForm = regexp.MustCompile(`^(REL|GLO|STR|RPC|SID|BLD|CON)-[A-Z]{3}-[0-9]{2}[a-z]?$`)

// check returns everything that is wrong with the catalogue: faults of single clauses, ids that
// occur twice, and statements without a clause.
func (c *Catalogue) check() (wrong []error) {
	statements := c.Statements()
	said := map[string]bool{}
	seen := map[string]bool{}
	for _, clause := range c.Clauses {
		if seen[clause.ID] {
			wrong = append(wrong, fmt.Errorf("%s: the id stands twice", clause.ID))
		}
		seen[clause.ID] = true
		for _, text := range clause.check() {
			wrong = append(wrong, fmt.Errorf("%s: %s", clause.ID, text))
		}
		for _, cited := range c.cited(clause.Source) {
			if !slices.Contains(clause.Says, cited) {
				wrong = append(wrong, fmt.Errorf("%s: the source is %q, which says does not name", clause.ID, cited))
			}
		}
		if len(clause.Says) == 0 && !clause.IsGloas() { // the description is older than that fork
			wrong = append(wrong, fmt.Errorf("%s: no statement of the description leads to it: name one in says", clause.ID))
		}
		for _, statement := range clause.Says {
			if !slices.Contains(statements, statement) {
				wrong = append(wrong, fmt.Errorf("%s: says %q, which is no statement in sections.yaml", clause.ID, statement))
			}
			said[statement] = said[statement] || clause.Retired == ""
		}
	}
	for _, statement := range statements {
		if !said[statement] {
			wrong = append(wrong, fmt.Errorf("sections.yaml: %q has no clause", statement))
		}
	}
	return wrong
}

// ownPart is the beginning of a part of a source that names places in the description.
var ownPart = regexp.MustCompile(`^(?:description|docs/spec\.md), `)

// cited returns the single statements of the description that a source names, such as Service 4 in
// "description, Service 4", and numbers that no section has. Whole sections are left out, as is
// what docs/spec.md says where the description is silent.
func (c *Catalogue) cited(source string) (cited []string) {
	statements := c.Statements()
	for _, part := range strings.Split(source, "; ") {
		at := ownPart.FindString(part)
		if at == "" {
			continue
		}
		for _, place := range strings.Split(part[len(at):], " and ") {
			if slices.Contains(statements, place) || slices.ContainsFunc(c.Sections, func(s Section) bool {
				number, found := strings.CutPrefix(place, s.Name+" ")
				return found && strings.Trim(number, "0123456789") == ""
			}) {
				cited = append(cited, place)
			}
		}
	}
	return cited
}

// check returns what is wrong with the clause, apart from the other clauses.
func (c Clause) check() (wrong []string) {
	if !idForm.MatchString(c.ID) {
		wrong = append(wrong,
			"an id is REL, GLO, STR, RPC, SID, BLD or CON, three capitals and two digits, such as REL-HDR-04")
	}
	if !slices.Contains(Levels, c.Level) {
		wrong = append(wrong, fmt.Sprintf("level %q is unknown: give one of %v", c.Level, Levels))
	}
	if !slices.Contains(Profiles, c.Profile) {
		wrong = append(wrong, fmt.Sprintf("profile %q is unknown: give one of %v", c.Profile, Profiles))
	} else if len(c.ID) > 3 && !strings.HasPrefix(c.Profile, interfaces[c.ID[:3]]) {
		wrong = append(wrong, fmt.Sprintf("profile %s is of another interface", c.Profile))
	}
	if _, ok := Features[c.Feature]; !ok && c.Feature != "" {
		wrong = append(wrong, fmt.Sprintf("feature %q is unknown", c.Feature))
	}
	if _, ok := Settings[c.Setting]; !ok && c.Setting != "" {
		wrong = append(wrong, fmt.Sprintf("setting %q is unknown", c.Setting))
	}
	if c.Source == "" {
		wrong = append(wrong, "no source")
	} else if c.Level == Must && !ownSource.MatchString(c.Source) {
		if c.Quote == "" {
			wrong = append(wrong,
				"a MUST that does not follow from the description needs the sentence that says so: give quote, or "+
					"SHOULD or DEF if there is none")
		}
		if !placedSource.MatchString(c.Source) {
			wrong = append(wrong, fmt.Sprintf("source %q does not say document, version, file and place", c.Source))
		}
	}
	if c.Paraphrase && c.Quote == "" {
		wrong = append(wrong, "paraphrase without a quote: give in quote what the source says")
	}
	if !strings.HasSuffix(c.Rule, ".") {
		wrong = append(wrong, "the rule is not a sentence that ends with a full stop")
	}
	return wrong
}

// Statements returns all statements of the description as clauses name them: the section, a space,
// and the number or the row.
func (c *Catalogue) Statements() []string {
	var all []string
	for _, section := range c.Sections {
		for _, statement := range section.Statements {
			all = append(all, section.Name+" "+statement)
		}
	}
	return all
}
