package figures

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/holiman/uint256"
)

// Form is how a series is drawn.
type Form string

// The forms.
const (
	Line   Form = "line"
	Step   Form = "step"   // each value holds until the next one
	Points Form = "points" // dots
	Marker Form = "marker" // a large mark
)

// Series is a row of points.
type Series struct {
	Name   string  `json:"name"`
	Form   Form    `json:"form"`
	Points []Point `json:"points"`
}

// Point is a place in a figure. Low and High are bounds of Y, if Bounded.
type Point struct {
	X       float64 `json:"x"`
	Y       float64 `json:"y"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Bounded bool    `json:"bounded,omitempty"`
	// Label names the place on the X axis, if it has no scale.
	Label string `json:"label,omitempty"`
}

// Figure is a figure with its numbers.
type Figure struct {
	// ID is the name of its files.
	ID, Title string
	// Doc says what is shown, and how it was counted.
	Doc  string
	X, Y string
	// Named: X has names in place of a scale.
	Named  bool
	Series []Series
	// Header and Rows are its table, with amounts exact in wei.
	Header []string
	Rows   [][]string
	// Missing says why there is nothing to draw.
	Missing string
}

// Markdown is the table of figures of docs/replay.md.
func Markdown() string {
	var out strings.Builder
	out.WriteString("| figure | |\n|---|---|\n")
	for _, f := range NewPart(0).Figures(nil) {
		fmt.Fprintf(&out, "| `%s` | %s |\n", f.ID, f.Doc)
	}
	return out.String()
}

// CSV is the figure's table.
func (f *Figure) CSV() ([]byte, error) {
	var out bytes.Buffer
	if err := csv.NewWriter(&out).WriteAll(append([][]string{f.Header}, f.Rows...)); err != nil {
		return nil, fmt.Errorf("write the table of %s: %w", f.ID, err)
	}
	return out.Bytes(), nil
}

// ether is an amount as a number to draw.
func ether(wei *big.Int) float64 {
	f, _ := new(big.Rat).SetFrac(wei, big.NewInt(1e18)).Float64()
	return f
}

func etherOf(wei *uint256.Int) float64 { return wei.Float64() / 1e18 }

// mean is an amount divided by a count, rounded towards nothing.
func mean(wei *big.Int, n int64) *big.Int {
	if n == 0 {
		return new(big.Int)
	}
	return new(big.Int).Quo(wei, big.NewInt(n))
}

// ratio writes n/of with six decimals.
func ratio(n, of int64) string {
	if of == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(n)/float64(of), 'f', 6, 64)
}

// share is n/of, 0 if there are none.
func share(n, of int64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// msText writes microseconds as milliseconds.
func msText(us int64) string { return strconv.FormatFloat(float64(us)/1000, 'f', -1, 64) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
