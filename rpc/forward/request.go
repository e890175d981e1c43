// Package forward carries an HTTP request to another process and its answer back, as bytes in the
// form of HTTP/1.1 (RFC 9112). The other process sees the client's address and headers as this one
// did.
package forward

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
)

// clientHeader has the client's address. Only instances of the service read it: one that a client
// sends is replaced.
const clientHeader = "Gavel-Client"

// notForwarded are headers that are about the connection, or about a body as it came, or name a
// client that was named already (RFC 9110, 7.6.1).
var notForwarded = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "Content-Encoding", "Content-Length", "Accept-Encoding", "Expect", "X-Forwarded-For", "Forwarded"}

// Request writes a request whose body has been read and is decompressed.
func Request(r *http.Request, client netip.Addr, body []byte) ([]byte, error) {
	header := r.Header.Clone()
	for _, name := range notForwarded {
		header.Del(name)
	}
	header.Set(clientHeader, client.String())
	var b bytes.Buffer
	b.Grow(len(body) + 1024)
	whole := &http.Request{Method: r.Method, URL: r.URL, Host: "owner", Header: header, ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}
	if err := whole.Write(&b); err != nil {
		return nil, fmt.Errorf("write a request for another instance: %w", err)
	}
	return b.Bytes(), nil
}

// Do has a handler answer the request that another instance wrote, and returns the answer. A
// handler that panics is an error: no HTTP server is around this goroutine, and the panic would end
// the process.
func Do(ctx context.Context, handler http.Handler, request []byte) (answer []byte, err error) {
	defer func() {
		if crash := recover(); crash != nil {
			answer, err = nil, fmt.Errorf("answer a request of another instance: the handler ended: %v", crash)
		}
	}()
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
	if err != nil {
		return nil, fmt.Errorf("read a request of another instance: %w", err)
	}
	client, err := netip.ParseAddr(r.Header.Get(clientHeader))
	if err == nil {
		r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
	} else {
		r.RemoteAddr = "" // the client's connection had no address
	}
	r.Header.Del(clientHeader)
	a := written{header: http.Header{}}
	handler.ServeHTTP(&a, r.WithContext(ctx))
	return a.bytes()
}
