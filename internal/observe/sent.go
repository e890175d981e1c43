package observe

import (
	"net/http"
	"strconv"
	"time"
)

// skew is by how much a client's clock may be ahead of ours. longestWay is the longest time that a
// request may say it was on its way: beyond both the header is wrong, or of another clock.
const (
	skew       = time.Second
	longestWay = time.Minute
)

// onTheWay returns how long a request's header was on its way, by what the client says of when it
// sent the request: X-Send-Ts in RFC 3339, as builders send it, or Date-Milliseconds since 1970
// (builder-specs, "getHeader"). False if the client says nothing that can be true. A client whose
// clock is a little ahead counts as one without any way.
func onTheWay(h http.Header, at func() time.Time) (time.Duration, bool) {
	var sent time.Time
	if text := h["X-Send-Ts"]; len(text) > 0 {
		parsed, err := time.Parse(time.RFC3339Nano, text[0])
		if err != nil {
			return 0, false
		}
		sent = parsed
	} else if text := h["Date-Milliseconds"]; len(text) > 0 {
		ms, err := strconv.ParseInt(text[0], 10, 64)
		if err != nil {
			return 0, false
		}
		sent = time.UnixMilli(ms)
	} else {
		return 0, false
	}
	took := at().Sub(sent)
	if took < -skew || took > longestWay {
		return 0, false
	}
	return max(took, 0), true
}
