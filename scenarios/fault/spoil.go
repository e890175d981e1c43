package fault

import (
	"io"
	"net/http"
)

// spoilEvery is the distance between wrong bytes.
const spoilEvery = 97

// spoil changes one byte in each spoilEvery, counted from the beginning of the stream. The first
// wrong byte comes early, so that short messages have one too.
func spoil(bytes []byte, flowed int) {
	for i := range bytes {
		if (flowed+i)%spoilEvery == spoilEvery/8 {
			bytes[i] ^= 0x15
		}
	}
}

// spoiledBody is a request body with wrong bytes.
type spoiledBody struct {
	io.ReadCloser
	flowed int
}

func (b *spoiledBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	spoil(into[:n], b.flowed)
	b.flowed += n
	return n, err
}

// spoiledAnswer writes an answer with wrong bytes.
type spoiledAnswer struct {
	http.ResponseWriter
	flowed int
}

func (a *spoiledAnswer) Write(bytes []byte) (int, error) {
	wrong := append([]byte{}, bytes...) // an io.Writer must not change its argument
	spoil(wrong, a.flowed)
	a.flowed += len(wrong)
	return a.ResponseWriter.Write(wrong)
}

// Unwrap lets the reverse proxy find the Flusher.
func (a *spoiledAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
