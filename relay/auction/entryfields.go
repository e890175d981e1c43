package auction

import (
	"reflect"
	"slices"
	"strings"
)

// entryFields are the names of the fields of an Entry.
var entryFields = func() (names []string) {
	for field := range reflect.TypeFor[Entry]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}()

// isEntryField says whether encoding/json takes a name for one of them, in whatever letters.
func isEntryField(name string) bool {
	return slices.ContainsFunc(entryFields, func(known string) bool { return strings.EqualFold(name, known) })
}
