package serve

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// ContentType is the media type of a request's body without parameters, in lower case. Without a header it is JSON; false means that the
// header cannot be read.
func ContentType(r *http.Request) (string, bool) {
	header := r.Header.Get("Content-Type")
	if header == "" {
		return "application/json", true
	}
	media, _, err := mime.ParseMediaType(header)
	return media, err == nil
}

// Negotiate picks the offer that a client likes best (RFC 9110, 12.5.1). No Accept header, or an empty one, takes the first offer; so do
// */* and its like. At equal quality the first that the client lists wins. False means that nothing offered is acceptable.
func Negotiate(r *http.Request, offers ...string) (string, bool) {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(header) == "" {
		return offers[0], true
	}
	best, bestQuality := "", 0.0
	refused := map[string]bool{} // named with q=0
	type wish struct {
		offer    string
		quality  float64
		wildcard bool
	}
	var wishes []wish
	for part := range strings.SplitSeq(header, ",") {
		media, quality, ok := parseRange(part)
		if !ok {
			continue
		}
		for _, offer := range offers {
			if media == offer && quality == 0 {
				refused[offer] = true
			}
		}
		if offer, wildcard := match(media, offers); offer != "" {
			wishes = append(wishes, wish{offer, quality, wildcard})
		}
	}
	for _, wish := range wishes {
		if wish.wildcard && refused[wish.offer] {
			for _, offer := range offers { // the wildcard still means the others
				if !refused[offer] {
					wish.offer = offer
					break
				}
			}
		}
		if !refused[wish.offer] && wish.quality > bestQuality {
			best, bestQuality = wish.offer, wish.quality
		}
	}
	return best, best != ""
}

func match(media string, offers []string) (offer string, wildcard bool) {
	for _, o := range offers {
		if media == o {
			return o, false
		}
		if kind, _, _ := strings.Cut(o, "/"); media == "*/*" || media == kind+"/*" {
			return o, true
		}
	}
	return "", false
}

// parseRange reads "type/subtype;q=0.9".
func parseRange(part string) (media string, quality float64, ok bool) {
	media, params, err := mime.ParseMediaType(strings.TrimSpace(part))
	if err != nil {
		return "", 0, false
	}
	q, given := params["q"]
	if !given {
		return media, 1, true
	}
	quality, err = strconv.ParseFloat(q, 64)
	return media, quality, err == nil && quality >= 0 && quality <= 1
}
