// Package api has the HTTP handlers of the stream: of the live events, and of the history.
//
//	GET /  Accept: text/event-stream, */*, none ──▶ data: {"hash":…}⏎⏎ data: …  :ping⏎⏎ (15 s after the last write)  …
//	       Accept: text/html preferred          ──▶ the page, which opens an EventSource on GET /?ids=1
//
// The stream is server-sent events (HTML Living Standard, 9.2) until one side ends the connection.
// Some clients parse its lines with a few lines of their own code. So by default the stream has
// nothing but data lines and pings. Clients ask for more by query: ?ids=1 puts an id before every
// event; then a Last-Event-ID header (or &lastEventId=, for clients that cannot set headers)
// resumes after that event. ?gzip=1 compresses if Accept-Encoding allows it, too. The header alone
// is not enough, because some clients' libraries send it without being told.
//
//	GET  /api/v1/history/info                     history_info.go
//	GET  /api/v1/history?blockStart=…&limit=…     history_page.go, history_query.go
//	POST /api/v1/history {"blockStart":…}         the same, as one client sends it
//
// The history refuses with {"error":"…"}, which names what is wrong. By default pages of any origin
// may read it.
package api
