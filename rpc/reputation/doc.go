// Package reputation knows what came of a signer's orders: a view of facts, pure and bounded. It decides who is served first when not everybody can
// be, and is what the user statistics tell. Any key may be used at any time, and begins with nothing.
//
//	facts ─▶ signer ─┬─ all time
//	                 └─ hours: │ 168 h ago … │ 24 h ago … │ now │     last 7 days = all of them, last day = the newest 24
//
// Who was not heard of for longest is forgotten when there are too many.
package reputation
