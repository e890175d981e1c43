// Package api has the HTTP handlers of the stream: what is streamed now, and what was streamed
// before.
//
//	GET /  Accept: text/event-stream, */*, none ──▶ data: {"hash":…}⏎⏎ data: …  :ping⏎⏎ (15 s after the last write)  …
//	       Accept: text/html preferred          ──▶ the page, which opens an EventSource on GET /?ids=1
//
// The stream is server-sent events (HTML Living Standard, 9.2) until one of both sides goes.
// Clients read lines, some of them with a few lines of code. So there is nothing in the stream but
// data lines and pings, and what else there is has to be asked for by query: ?ids=1 puts an id
// before every event, and then a Last-Event-ID header (or &lastEventId=, for who cannot set
// headers) resumes after that event; ?gzip=1 compresses, if Accept-Encoding allows it too, since
// some clients send that header without being asked.
//
//	GET  /api/v1/history/info                     history_info.go
//	GET  /api/v1/history?blockStart=…&limit=…     history_page.go, history_query.go
//	POST /api/v1/history {"blockStart":…}         the same, as one client sends it
//
// The history refuses with {"error":"…"}, which names what is wrong. Pages of any origin may ask.
package api
