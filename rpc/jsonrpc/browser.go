package jsonrpc

import (
	"net/http"
	"slices"
	"strings"
)

// allowAnyOrigin lets pages of every origin read an answer (Fetch Standard, 3.2). Nothing is at
// risk: what a request may do is decided by its signature, which only who has the key can make. No
// cookie or other credential that a browser adds by itself is read, and "*" keeps browsers from
// sending any.
func allowAnyOrigin(header http.Header) {
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Access-Control-Expose-Headers", "Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-Refusal")
}

// preflight tells a browser what a page of another origin may send. It takes no token: a browser
// keeps the answer for a day, and whoever asks more often gets less than a refusal would cost.
func (s *Server) preflight(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
	header.Set("Access-Control-Allow-Headers", strings.Join(s.requestHeaders(), ", "))
	header.Set("Access-Control-Max-Age", "86400")
	header.Set("Allow", "OPTIONS, POST")
	w.WriteHeader(http.StatusNoContent)
}

// requestHeaders are the headers of a request that mean something here.
func (s *Server) requestHeaders() []string {
	return slices.Concat([]string{"Content-Type", "Content-Encoding", dialectHeader}, s.SignatureHeaders, s.OriginHeaders)
}
