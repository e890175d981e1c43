package serve

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ContentType is the media type of a request's body without parameters, in lower case. Without a
// header it is application/json. It returns false if the header cannot be read.
func ContentType(r *http.Request) (string, bool) {
	header := r.Header.Get("Content-Type")
	if header == "" || header == "application/json" { // the usual case
		return "application/json", true
	}
	media, _, err := mime.ParseMediaType(header)
	return media, err == nil
}

// Negotiate picks the offer that a client prefers (RFC 9110, 12.5.1). The quality of an offer is
// that of the most specific range that matches it; q=0 refuses it. At equal quality the range that
// the client lists first wins, and then the first offer. Without an Accept header, or with an empty
// one, the first offer is picked. It returns false if no offer is acceptable.
func Negotiate(r *http.Request, offers ...string) (string, bool) {
	accepted := r.Header["Accept"]
	if len(accepted) == 1 && slices.Contains(offers, accepted[0]) { // the header is just one of the offers
		return accepted[0], true
	}
	header := strings.Join(accepted, ",")
	if strings.TrimSpace(header) == "" {
		return offers[0], true
	}
	var room [8]mediaRange // more than clients send, so append need not allocate
	ranges := room[:0]
	for part := range strings.SplitSeq(header, ",") {
		if parsed, ok := parseRange(part); ok {
			ranges = append(ranges, parsed)
		}
	}
	best, bestPlace, bestQuality := "", 0, 0.0
	for _, offer := range offers {
		place := fitting(ranges, offer)
		if place < 0 {
			continue
		}
		quality := ranges[place].quality
		if quality > bestQuality || (quality == bestQuality && quality > 0 && place < bestPlace) {
			best, bestPlace, bestQuality = offer, place, quality
		}
	}
	return best, best != ""
}

// mediaRange is one item of an Accept header.
type mediaRange struct {
	media   string
	quality float64
}

// fitting is the index of the most specific range that matches an offer; -1 if there is none. Of
// two equal ranges the first counts.
func fitting(ranges []mediaRange, offer string) int {
	kind, _, _ := strings.Cut(offer, "/")
	for _, media := range []string{offer, kind + "/*", "*/*"} {
		if place := slices.IndexFunc(ranges, func(m mediaRange) bool { return m.media == media }); place >= 0 {
			return place
		}
	}
	return -1
}

// parseRange reads "type/subtype;q=0.9".
func parseRange(part string) (parsed mediaRange, ok bool) {
	if parsed, ok := parsePlainRange(part); ok {
		return parsed, true
	}
	return parseAnyRange(part)
}

// parsePlainRange reads the usual ranges, in small letters and with q as the only parameter,
// without allocating. A range that it does not read may still be valid.
func parsePlainRange(part string) (parsed mediaRange, ok bool) {
	media, param, given := strings.Cut(part, ";")
	media, param = strings.Trim(media, " "), strings.Trim(param, " ")
	kind, sub, _ := strings.Cut(media, "/")
	if !only(kind, "abcdefghijklmnopqrstuvwxyz*-") || !only(sub, "abcdefghijklmnopqrstuvwxyz*-") {
		return mediaRange{}, false
	}
	if !given {
		return mediaRange{media, 1}, true
	}
	q, isQ := strings.CutPrefix(param, "q=")
	if !isQ || !only(q, "0123456789.") {
		return mediaRange{}, false
	}
	quality, err := strconv.ParseFloat(q, 64)
	return mediaRange{media, quality}, err == nil && quality <= 1
}

// only says whether a text is not empty and has no characters but these.
func only(text, signs string) bool { return text != "" && strings.Trim(text, signs) == "" }

// parseAnyRange reads a range in any valid form (RFC 9110, 12.5.1).
func parseAnyRange(part string) (parsed mediaRange, ok bool) {
	media, params, err := mime.ParseMediaType(strings.TrimSpace(part))
	if err != nil {
		return mediaRange{}, false
	}
	q, given := params["q"]
	if !given {
		return mediaRange{media, 1}, true
	}
	quality, err := strconv.ParseFloat(q, 64)
	return mediaRange{media, quality}, err == nil && quality >= 0 && quality <= 1
}
