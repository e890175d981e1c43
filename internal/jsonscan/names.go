package jsonscan

import (
	"fmt"
	"strings"
)

// maxNames is how many names an object may have that its reader doesn't know. Each is kept in
// memory until the object ends.
const maxNames = 2048

// Names finds names that occur twice in an object. Known objects are small; hostile ones must cost
// neither quadratic time nor much memory.
type Names struct {
	few  []string
	many map[string]struct{}
}

// Add returns an error if the name was added before, or if there are too many.
func (n *Names) Add(name string) error {
	for _, other := range n.few {
		if other == name {
			return fmt.Errorf("%.90s comes twice", name)
		}
	}
	if len(n.few) < 32 {
		n.few = append(n.few, name)
		return nil
	}
	if _, seen := n.many[name]; seen {
		return fmt.Errorf("%.90s comes twice", name)
	}
	if len(n.many) == maxNames {
		return fmt.Errorf("more than %d names in an object", maxNames)
	}
	if n.many == nil {
		n.many = map[string]struct{}{}
	}
	n.many[name] = struct{}{}
	return nil
}

// oddLetters are the two letters outside of ASCII that encoding/json treats as ASCII letters: the
// long s and the Kelvin sign.
var oddLetters = strings.NewReplacer("\u017f", "s", "\u212a", "k")

// Fold returns a name in the form in which encoding/json compares it.
func Fold(name string) string { return strings.ToLower(oddLetters.Replace(name)) }
