// Package stream has the types of the event stream, which shows searchers what senders share of
// pending orders. The packages below it use these types and do not import each other; app connects
// them.
//
//	journal ──orderflow.Shared──▶ hint.Project ──▶ history (SQL, first) ──Event──▶ broadcast ─▶ api: GET / (server-sent events)
//	         what its sender allows                   └──▶ api: GET /api/v1/history                 each listener has a bounded queue
package stream
