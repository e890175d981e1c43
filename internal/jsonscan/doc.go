// Package jsonscan reads JSON (RFC 8259) in place: in one pass over the text, without a tree or
// reflection. What it returns are parts of the text. The services read all bodies with it, because
// encoding/json takes several times as long, accepts a name twice, and matches names in any letter
// case.
//
//	text ─▶ Scanner ─┬─ Members, Items    objects and lists, by a function for each member or item
//	                 ├─ Text, Value       checked: the whole grammar
//	                 ├─ RawText, Raw      unchecked: only where it ends, several times as fast
//	                 └─ Unhex             digits to bytes, eight at a time
//
// Unchecked readers are for text that was checked before, and for values that the caller checks,
// such as hexadecimal digits. On other text they return an error or nonsense, but never panic.
//
// The caller decides what a document may contain: which names, whether a name may come twice, which
// numbers.
package jsonscan
