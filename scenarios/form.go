package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holiman/uint256"
)

// entry is one thing that may be written in a place: its form and its meaning, and the words that
// are allowed for an operand that is a word.
type entry struct {
	form, means string
	names       []string // allowed words for an operand that is a name; nil means the names of the plan's actors
}

// catalogue has everything that may be written in one place.
type catalogue struct {
	what    string // "a builder's strategy"
	entries []entry
}

func (c catalogue) forms() string {
	forms := make([]string, len(c.entries))
	for i, e := range c.entries {
		forms[i] = e.form
	}
	return strings.Join(forms, ", ")
}

func (c catalogue) entry(form string) entry {
	for _, e := range c.entries {
		if e.form == form {
			return e
		}
	}
	return entry{}
}

// read finds the entry whose form a text has. actors are the names that RELAY, BUILDER and USER may
// stand for.
func (c catalogue) read(text string, actors actors) (Move, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Move{}, fmt.Errorf("%s is empty: give one of %s", c.what, c.forms())
	}
	var nearest error
	for _, e := range c.entries {
		pattern := strings.Fields(e.form)
		if pattern[0] != words[0] {
			continue
		}
		move, err := e.match(pattern, words, actors)
		if err == nil {
			return move, nil
		}
		if nearest == nil || !errors.Is(err, errShape) {
			nearest = fmt.Errorf("%q: %w", text, err)
		}
	}
	if nearest != nil {
		return Move{}, nearest
	}
	return Move{}, fmt.Errorf("%q is not %s: give one of %s", text, c.what, c.forms())
}

// errShape marks a text whose words do not match the form, in contrast to one whose operand cannot
// be read.
var errShape = errors.New("write it")

func (e entry) match(pattern, words []string, actors actors) (Move, error) {
	m := Move{Form: e.form}
	if len(pattern) != len(words) {
		return m, fmt.Errorf("%w as %s", errShape, e.form)
	}
	for i, p := range pattern {
		if !isOperand(p) {
			if p != words[i] {
				return m, fmt.Errorf("%w as %s", errShape, e.form)
			}
			continue
		}
		if err := m.take(p, words[i], e.names, actors); err != nil {
			return m, err
		}
	}
	return m, nil
}

func isOperand(word string) bool { return word[0] >= 'A' && word[0] <= 'Z' || word[0] == '+' }

// take reads an operand.
func (m *Move) take(operand, word string, names []string, actors actors) (err error) {
	switch operand {
	case "VALUE", "+VALUE":
		m.ValueWei, err = parseWei(strings.TrimPrefix(word, "+"))
	case "PERCENT":
		m.Percent, err = parsePercent(word)
	case "TIME":
		m.Time, err = parseOffset(word)
	case "DURATION":
		m.Time, err = parseSpan(word)
	case "COUNT":
		m.Count, err = parseCount(word, 1, maxCount)
	case "NODE":
		m.Count, err = parseCount(word, 1, maxNodes)
	case "STATUS":
		m.Count, err = parseCount(word, 500, 599)
	default:
		if names == nil {
			names = actors.of(operand)
		}
		if !slices.Contains(names, word) {
			return fmt.Errorf("%s %q is unknown: give one of %s", strings.ToLower(operand), word, strings.Join(names, ", "))
		}
		m.Name = word
	}
	return err
}

// String returns the move as a plan writes it.
func (m Move) String() string {
	words := strings.Fields(m.Form)
	for i, word := range words {
		if !isOperand(word) {
			continue
		}
		switch word {
		case "VALUE":
			words[i] = formatWei(m.ValueWei)
		case "+VALUE":
			words[i] = "+" + formatWei(m.ValueWei)
		case "PERCENT":
			words[i] = strconv.FormatFloat(m.Percent, 'f', -1, 64) + "%"
		case "TIME", "DURATION":
			words[i] = formatDuration(m.Time)
		case "COUNT", "NODE", "STATUS":
			words[i] = strconv.Itoa(m.Count)
		default:
			words[i] = m.Name
		}
	}
	return strings.Join(words, " ")
}

// Is says whether the move's form begins with one of these phrases.
func (m Move) Is(beginnings ...string) bool {
	return slices.ContainsFunc(beginnings, func(words string) bool { return strings.HasPrefix(m.Form+" ", words+" ") })
}

// maxCount bounds every count in a plan.
const maxCount = 1_000_000

// maxSpan bounds durations, so that their sums cannot overflow.
const maxSpan = 24 * time.Hour

func parseOffset(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if text == "0" {
		d, err = 0, nil
	}
	if err != nil || d < -maxSpan || d > maxSpan {
		return 0, fmt.Errorf("%q is no time: give one with its unit, such as 900ms, -40ms or +1.5s", text)
	}
	return d, nil
}

func parseSpan(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if text == "0" {
		d, err = 0, nil
	}
	if err != nil || d < 0 || d > maxSpan {
		return 0, fmt.Errorf("%q is no duration: give one with its unit, such as 80ms or 12s", text)
	}
	return d, nil
}

func formatDuration(d time.Duration) string {
	text := d.String() // for example 1m0s
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-len(zero)+1]
		}
	}
	return text
}

func parseCount(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is no number from %d to %d", text, least, most)
	}
	return n, nil
}

func parsePercent(text string) (float64, error) {
	p, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !strings.HasSuffix(text, "%") || !(p >= 0 && p <= 100) {
		return 0, fmt.Errorf("%q is no percentage: give one from 0%% to 100%%", text)
	}
	return p, nil
}

// units of values, greatest first.
var units = []struct {
	name   string
	digits int
}{{"eth", 18}, {"gwei", 9}, {"wei", 0}}

// parseWei reads a value with its unit, such as 0.003eth; it is exact.
func parseWei(text string) (*uint256.Int, error) {
	wrong := fmt.Errorf("%q is no value: give one with its unit, such as 0.003eth, 1gwei or 5wei", text)
	for _, unit := range units {
		number, found := strings.CutSuffix(text, unit.name)
		if !found {
			continue
		}
		whole, part, _ := strings.Cut(number, ".")
		if len(part) > unit.digits || !digits(whole) || part != "" && !digits(part) || len(whole) > 12 {
			return nil, wrong
		}
		value, err := uint256.FromDecimal(trimZeros(whole + part + strings.Repeat("0", unit.digits-len(part))))
		if err != nil {
			return nil, wrong
		}
		return value, nil
	}
	return nil, wrong
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

func trimZeros(text string) string {
	if text = strings.TrimLeft(text, "0"); text == "" {
		return "0"
	}
	return text
}

// formatWei writes a value in the largest unit in which it needs no more than nine decimal places
// and does not begin with more than five zeros.
func formatWei(value *uint256.Int) string {
	text := value.Dec()
	for _, unit := range units {
		padded := text
		if len(padded) <= unit.digits {
			padded = strings.Repeat("0", unit.digits-len(padded)+1) + padded
		}
		whole, part := padded[:len(padded)-unit.digits], strings.TrimRight(padded[len(padded)-unit.digits:], "0")
		if len(part) > 9 || whole == "0" && part != "" && len(part)-len(strings.TrimLeft(part, "0")) > 5 || len(whole) > 12 {
			continue
		}
		if part != "" {
			whole += "." + part
		}
		return whole + unit.name
	}
	return text + "wei"
}
