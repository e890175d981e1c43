// Package stream is the vocabulary of the event stream: what searchers learn of pending orders. The
// rooms below it know these words and not each other; app/ puts them together.
//
//	journal ──orderflow.Shared──▶ hint.Project ──▶ history (SQL, first) ──Event──▶ broadcast ─▶ api: GET / (server-sent events)
//	         what its sender allows                   └──▶ api: GET /api/v1/history                 each listener has a bounded queue
package stream
