package target

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// Features are names of clauses.Features with commas between them, or one of the words below. In
// target.yaml they are a text or a list. A name with an operation behind it, such as ssz@REL-HDR,
// is the feature there and nowhere else.
type Features string

const (
	// AutoFeatures has the suite find out by requests.
	AutoFeatures Features = "auto"
	// NoFeatures declares that the target has no optional feature.
	NoFeatures Features = "none"
)

// UnmarshalYAML reads a text or a list. An empty list is NoFeatures.
func (f *Features) UnmarshalYAML(raw []byte) error {
	var text string
	if err := yaml.Unmarshal(raw, &text); err == nil {
		*f = Features(text)
		return nil
	}
	var list []string
	if err := yaml.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("features is neither a text nor a list of names")
	}
	if *f = Features(strings.Join(list, ",")); len(list) == 0 {
		*f = NoFeatures
	}
	return nil
}

// Declared returns the features that the target declares, which may be none; nil if the suite finds
// out.
func (t *Target) Declared() []string {
	switch t.Features {
	case AutoFeatures, "":
		return nil
	case NoFeatures:
		return []string{}
	default:
		return strings.FieldsFunc(string(t.Features), func(r rune) bool { return r == ',' || r == ' ' })
	}
}

// Names says whether one of the names is the clause's feature, wherever or at its operation.
func Names(names []string, c clauses.Clause) bool {
	return slices.Contains(names, c.Feature) || slices.Contains(names, c.FeatureHere())
}

var operationForm = regexp.MustCompile(`^(REL|STR|RPC|SID|BLD|CON)-[A-Z]{3}$`)

// CheckFeatures returns an error if a name is none of clauses.Features, or has something else
// behind its @ than an operation.
func CheckFeatures(names []string) error {
	for _, name := range names {
		feature, operation, single := strings.Cut(name, "@")
		if single && !operationForm.MatchString(operation) {
			return fmt.Errorf("%q: %q is no operation: give the first two parts of a clause's id, such as ssz@REL-HDR", name,
				operation)
		}
		if _, found := clauses.Features[feature]; !found {
			return fmt.Errorf("%q is no feature: give auto, none, or some of %s", name,
				strings.Join(slices.Sorted(maps.Keys(clauses.Features)), ", "))
		}
	}
	return nil
}
