package serve

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ContentType is the media type of a request's body without parameters, in lower case. Without a
// header it is JSON; false means that the header cannot be read.
func ContentType(r *http.Request) (string, bool) {
	header := r.Header.Get("Content-Type")
	if header == "" || header == "application/json" { // which is what nearly all say
		return "application/json", true
	}
	media, _, err := mime.ParseMediaType(header)
	return media, err == nil
}

// Negotiate picks the offer that a client likes best (RFC 9110, 12.5.1): for each offer the most
// specific range that fits it tells its quality, and q=0 refuses it. At equal quality the first
// that the client lists wins, and what it does not tell apart is decided by the order of the
// offers. No Accept header, or an empty one, takes the first offer. False means that nothing
// offered is acceptable.
func Negotiate(r *http.Request, offers ...string) (string, bool) {
	accepted := r.Header["Accept"]
	if len(accepted) == 1 && slices.Contains(offers, accepted[0]) { // nothing but one of ours
		return accepted[0], true
	}
	header := strings.Join(accepted, ",")
	if strings.TrimSpace(header) == "" {
		return offers[0], true
	}
	var room [8]mediaRange // more than clients send, so that nothing is allocated
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

// fitting is the place of the most specific range that an offer fits, -1 if there is none. Of two
// alike the first counts.
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

// parsePlainRange reads what clients send in every slot, in small letters and with q alone, without
// allocating. What it does not read may still be a range.
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

// only says whether a text has some of the signs and no others.
func only(text, signs string) bool { return text != "" && strings.Trim(text, signs) == "" }

// parseAnyRange reads a range in any form (RFC 9110, 12.5.1).
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
