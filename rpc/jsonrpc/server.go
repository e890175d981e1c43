package jsonrpc

import (
	"cmp"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
)

// Verifier finds out who signed a body, which is decompressed and otherwise as it came. It refuses
// with SignatureMissing if no header has a signature, and with other refusals if one is wrong. It
// is called concurrently, and at most once for an HTTP request.
type Verifier func(header http.Header, body []byte) (signer common.Address, err error)

// Observe is called for each request, also for those in a batch. method is the name in the table,
// or empty if there is no such method; refusalID is empty if the request was not refused; took is
// how long the method ran, 0 if it was not called. It is called concurrently and must not block.
type Observe func(method, refusalID string, took time.Duration)

// Config has the server's ports and rules. The comments name the defaults for zero values.
type Config struct {
	// Path is where requests are answered: "/".
	Path string
	// Methods is the table.
	Methods map[string]Method
	// Aliases are other prefixes of names, by the prefix in the table: with "flashbots_":
	// {"vendor_"}, vendor_x is flashbots_x.
	Aliases map[string][]string
	// Unsigned are the methods of the table that need no signature. A wrong signature is refused
	// even there.
	Unsigned []string
	// Verify is required.
	Verify Verifier
	// Clock says when a request was received. Rate limits use the wall clock.
	Clock clock.Clock
	// Observe may be nil.
	Observe Observe
	Limits  Limits
	// MaxBatch bounds the entries of a batch: 100. MaxBody bounds the body in bytes, decompressed:
	// 30 MiB.
	MaxBatch int
	MaxBody  int64
	// TrustedProxies may say in a header which client a request comes from.
	TrustedProxies []netip.Prefix
	// OriginHeaders are the names of the header with a request's origin: X-Flashbots-Origin. The
	// first one that is present counts.
	OriginHeaders []string
	// SignatureHeaders are the names that Verify reads. Pages of other origins may send these
	// headers, and those that the envelope reads.
	SignatureHeaders []string
	// Legacy answers errors of methods not ending in V2 with {"error":"text"} and a 4xx or 5xx, as
	// relays did before 2024, unless the header X-Error-Dialect is jsonrpc. A client gets this form
	// without Legacy if the header is legacy.
	Legacy bool
	// Confirm, if set, is called when a request was worked on and before it is answered. Its refusal
	// is answered instead.
	Confirm func() *rpc.Refused
	// Forward, if set, has another server answer what was read and is a request, or a batch of some:
	// it writes the answer, or returns why it has none. The request's body was read; it is
	// decompressed. The methods are not called then.
	Forward func(w http.ResponseWriter, r *http.Request, body []byte) *rpc.Refused
	// AuthStatus is the HTTP status for a client that is not allowed to ask: 403. Some clients read
	// JSON-RPC errors only with 200.
	AuthStatus int
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	Config
	mux     serve.Mux
	methods map[string]*method
	keyOf   func(*http.Request) string
	clients *serve.Limiter
	signers *serve.Limiter
}

// New makes a server. It refuses a config without a verifier, one that names unknown methods, and
// one that gives two methods the same name.
func New(config Config) (*Server, error) {
	if config.Verify == nil {
		return nil, errors.New("nobody verifies signatures")
	}
	s := &Server{Config: config}
	s.Path, s.MaxBatch, s.MaxBody = cmp.Or(s.Path, "/"), cmp.Or(s.MaxBatch, 100), cmp.Or(s.MaxBody, 30<<20)
	s.AuthStatus, s.Limits.Client = cmp.Or(s.AuthStatus, http.StatusForbidden), cmp.Or(s.Limits.Client, usualRate)
	if s.Clock == nil {
		s.Clock = clock.Real{}
	}
	if s.OriginHeaders == nil {
		s.OriginHeaders = []string{"X-Flashbots-Origin"}
	}
	if s.Observe == nil {
		s.Observe = func(string, string, time.Duration) {}
	}
	methods, err := s.table()
	if err != nil {
		return nil, err
	}
	s.methods, s.keyOf = methods, serve.ByClient(s.TrustedProxies)
	s.clients, s.signers = s.Limits.Client.limiter(s.Limits.Keys), s.Limits.Signer.limiter(s.Limits.Keys)
	s.mux = serve.Mux{NotFound: Statuses.Of(rpc.NotFound.Plain()), NotAllowed: Statuses.Of(rpc.MethodNotAllowed.Plain()),
		Answer: s.answerElsewhere}
	if s.Path == "/" {
		s.Path = "/{$}" // this path only, not those below it
	}
	s.mux.Handle(http.MethodPost, s.Path, s.post)
	s.mux.Handle(http.MethodOptions, s.Path, s.preflight)
	return s, nil
}

// Handle adds an operation beside the RPC, such as a document or a health check. It must be called
// before requests come. No rate limits apply to the operation.
func (s *Server) Handle(method, pattern string, operation http.HandlerFunc) {
	s.mux.Handle(method, pattern, operation)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	allowAnyOrigin(w.Header())
	s.mux.ServeHTTP(w, r)
}

// Names returns all names under which methods can be called, sorted.
func (s *Server) Names() []string {
	names := make([]string, 0, len(s.methods))
	for name := range s.methods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
