//go:build mutants

package defect

// on are the defects that are switched on; nobody writes it once services run.
var on = map[ID]bool{}

// On says whether a defect is switched on.
func On(id ID) bool { return on[id] }

// Switch switches defects on, for the rest of the process. It must be called before any service starts. An error is the caller's mistake.
func Switch(ids ...ID) error {
	for _, id := range ids {
		if _, err := Find(id); err != nil {
			return err
		}
		on[id] = true
	}
	return nil
}
