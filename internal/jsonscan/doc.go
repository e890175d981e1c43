// Package jsonscan reads JSON (RFC 8259) where it lies: one pass over the text, no tree, no
// reflection, and what it hands out are parts of the text. The services read all bodies with it,
// since encoding/json takes several times as long, lets names come twice, and takes names in other
// letters.
//
//	text ─▶ Scanner ─┬─ Members, Items    objects and lists, by a function for each member or item
//	                 ├─ Text, Value       checked: the whole grammar
//	                 ├─ RawText, Raw      unchecked: only where it ends, several times as fast
//	                 └─ Unhex             digits to bytes, eight at a time
//
// Unchecked readers are for text that was checked before, and for text whose reader checks it, as
// hexadecimal digits. On other text they give an error or nonsense, never a panic.
//
// What a document may say (which names, whether one may come twice, which numbers) is the caller's
// to decide.
package jsonscan
