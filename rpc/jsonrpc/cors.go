package jsonrpc

import (
	"net/http"
	"slices"
	"strings"
)

// allowAnyOrigin lets pages of every origin read an answer (Fetch Standard, 3.2). This is safe: the
// signature decides what a request may do, and only the holder of the key can make it. The service
// reads no cookie or other credential that a browser adds by itself, and "*" keeps browsers from
// sending any.
func allowAnyOrigin(header http.Header) {
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Access-Control-Expose-Headers", "Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-Refusal")
}

// preflight tells a browser what a page of another origin may send. It takes no token: a browser
// keeps the answer for a day, and the answer costs less than a refusal would.
func (s *Server) preflight(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
	header.Set("Access-Control-Allow-Headers", strings.Join(s.requestHeaders(), ", "))
	header.Set("Access-Control-Max-Age", "86400")
	header.Set("Allow", "OPTIONS, POST")
	w.WriteHeader(http.StatusNoContent)
}

// requestHeaders are the request headers that the service reads.
func (s *Server) requestHeaders() []string {
	return slices.Concat([]string{"Content-Type", "Content-Encoding", dialectHeader}, s.SignatureHeaders, s.OriginHeaders)
}
