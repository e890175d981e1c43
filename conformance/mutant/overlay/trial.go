package overlay

// Trial are mutants as fromWords has them, which no spec notices yet. None of them must be killed;
// one that is killed moves to fromWords. The list must not be changed.
var Trial = []Mutant{}
