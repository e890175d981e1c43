package servetest

import (
	"fmt"
	"strconv"
	"strings"
)

// scan finds the values of a document that is known to be valid.
type scan struct {
	text   string
	at     int
	values []value
}

// maxItems is how many items of a list are mutated: the others are like them.
const maxItems = 2

func (s *scan) value(where string) (from, to int) {
	from = s.at
	place := len(s.values)
	s.values = append(s.values, value{})
	switch s.text[s.at] {
	case '{':
		s.object(where)
	case '[':
		s.list(where)
	case '"':
		s.at = strings.IndexByte(s.text[s.at+1:], '"') + s.at + 2
	default:
		s.at += strings.IndexAny(s.text[s.at:]+",", ",]}")
	}
	s.values[place] = value{where: where, from: from, to: s.at, text: s.text[from:s.at]}
	return from, s.at
}

func (s *scan) object(where string) {
	s.at++
	for s.text[s.at] != '}' {
		begin := s.at
		end := strings.IndexByte(s.text[begin+1:], '"') + begin + 1
		name := s.text[begin+1 : end]
		s.at = end + 2 // quote and colon
		place := len(s.values)
		_, to := s.value(strings.TrimPrefix(where+"."+name, "."))
		s.values[place].name, s.values[place].memberFrom, s.values[place].memberTo = name, begin, to
		s.comma()
	}
	s.at++
}

func (s *scan) list(where string) {
	s.at++
	for i := 0; s.text[s.at] != ']'; i++ {
		place := len(s.values)
		s.value(strings.TrimPrefix(where+"."+strconv.Itoa(i), "."))
		if i >= maxItems {
			s.values = s.values[:place]
		}
		s.comma()
	}
	s.at++
}

func (s *scan) comma() {
	switch s.text[s.at] {
	case ',':
		s.at++
	case '}', ']':
	default:
		panic(fmt.Sprintf("mutate: white space or worse at byte %d of the good document", s.at))
	}
}
