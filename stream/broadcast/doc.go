// Package broadcast sends the events of the stream to all listeners. An event is framed once
// (server-sent events, HTML Living Standard 9.2), and all listeners share its bytes. A listener is
// a position in a list of immutable chunks, so it needs no buffer of its own.
//
//	Publish ─▶ pending ─▶ chunk ─▶ chunk ─▶ chunk ─▶ (to come)
//	                       ▲         ▲        ▲
//	       behind by more than       │        └─ listeners that have taken all wait here
//	       the queue: cut ✂          └─ one that still writes this; nobody waits for it
//
// A single event is sent at once. Under load events gather for a time that grows with the number of
// listeners, and are sent in one chunk. So the cost of waking listeners does not grow with their
// number.
//
// A listener that resumes first gets past events from the history, and then joins the others: no
// event in between is lost, and none comes twice.
package broadcast
