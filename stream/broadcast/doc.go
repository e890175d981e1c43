// Package broadcast lets everybody hear the events of the stream. An event is framed once
// (server-sent events, HTML Living Standard 9.2), and all listeners share the bytes: a listener is
// a position in a list of immutable chunks, so that it costs bytes and not buffers.
//
//	Publish ─▶ pending ─▶ chunk ─▶ chunk ─▶ chunk ─▶ (to come)
//	                       ▲         ▲        ▲
//	       behind by more than       │        └─ listeners that have taken all wait here
//	       the queue: cut ✂          └─ one that still writes this; nobody waits for it
//
// When it is quiet an event goes out at once. Under load events gather for a moment that grows with
// the number of listeners and leave in one chunk, so that everybody's share of the processor stays
// the same.
//
// Who resumes is first read the past, from the history, and joins the others at its end: nothing is
// lost in between and nothing comes twice.
package broadcast
