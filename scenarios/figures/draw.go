package figures

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of a picture.
const (
	width  = 8 * vg.Inch
	height = 4 * vg.Inch
)

// colours can be told apart by people who are colour-blind (Okabe and Ito), and on paper by their
// darkness.
var colours = []color.NRGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x8a, 0x7a, 0x00, 0xff}, {0x66, 0x66, 0x66, 0xff},
	{0x99, 0x00, 0x4d, 0xff}, {0x00, 0x00, 0x00, 0xff},
}

// drawnPoints is how many points of a series are drawn at most.
const drawnPoints = 2000

// thin leaves points away that a picture has no room for: it keeps every nth, and the last one.
func thin(points []Point) []Point {
	if len(points) <= drawnPoints {
		return points
	}
	step := (len(points) + drawnPoints - 1) / drawnPoints
	var kept []Point
	for i := 0; i < len(points)-1; i += step {
		kept = append(kept, points[i])
	}
	return append(kept, points[len(points)-1])
}

// box says where in a picture the data are, in shares of its width and height from the left and
// the top, and which values its edges have.
type box struct {
	Left, Right, Top, Bottom float64
	X0, X1, Y0, Y1           float64
}

// SVG draws a figure. A figure without data is empty.
func (f *Figure) SVG() ([]byte, error) {
	svg, _, err := f.draw()
	return svg, err
}

// pngDPI is how many dots of a PNG an inch has: enough for print.
const pngDPI = 200

// PNG draws a figure, with the same strokes as the SVG. A figure without data is empty.
func (f *Figure) PNG() ([]byte, error) {
	if f.Missing != "" {
		return nil, nil
	}
	p, err := f.plot()
	if err != nil {
		return nil, err
	}
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))}
	p.Draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw %s: %w", f.ID, err)
	}
	return out.Bytes(), nil
}

func (f *Figure) draw() (svg []byte, place box, err error) {
	if f.Missing != "" {
		return nil, place, nil
	}
	p, err := f.plot()
	if err != nil {
		return nil, place, err
	}
	canvas := vgsvg.New(width, height)
	area := draw.New(canvas)
	p.Draw(area)
	data := p.DataCanvas(area)
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, place, fmt.Errorf("draw %s: %w", f.ID, err)
	}
	return out.Bytes(), box{
		Left: float64(data.Min.X / width), Right: float64(data.Max.X / width), Top: 1 - float64(data.Max.Y/height),
		Bottom: 1 - float64(data.Min.Y/height), X0: p.X.Min, X1: p.X.Max, Y0: p.Y.Min, Y1: p.Y.Max,
	}, nil
}

// plot arranges a figure that has data.
func (f *Figure) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X, f.Y
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
		style.Font.Size = vg.Points(9)
	}
	p.Title.TextStyle.Font.Size, p.Title.Padding = vg.Points(11), vg.Points(6)
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for i := range f.Series {
		if err := f.Series[i].draw(p, f.Named, colours[i%len(colours)]); err != nil {
			return nil, fmt.Errorf("draw %s, %s: %w", f.ID, f.Series[i].Name, err)
		}
	}
	if f.Named {
		f.nameX(p)
	}
	widen(p)
	return p, nil
}

// widen begins the Y axis at 0, leaves room above, and gives axes on which all values are the
// same some length, without which they cannot be drawn.
func widen(p *plot.Plot) {
	p.Y.Min = min(p.Y.Min, 0)
	p.Y.Max += (p.Y.Max - p.Y.Min) / 20
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		if size := max(math.Abs(axis.Min), math.Abs(axis.Max)); axis.Max-axis.Min <= size*1e-9 {
			axis.Min, axis.Max = axis.Min-max(size/10, 1e-9), axis.Max+max(size/10, 1e-9)
		}
	}
}

// nameX puts names below the X axis.
func (f *Figure) nameX(p *plot.Plot) {
	var names []string
	for _, point := range f.Series[0].Points {
		names = append(names, shorten(point.Label, 24))
	}
	p.NominalX(names...)
	p.X.Tick.Label.Rotation = 0.5
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.X.Min, p.X.Max = -0.5, float64(len(names))-0.5
}

// shorten makes a name fit beside a picture.
func shorten(name string, length int) string {
	name = strings.Join(strings.Fields(name), " ")
	if runes := []rune(name); len(runes) > length {
		return string(runes[:length-1]) + "…"
	}
	return name
}

// draw adds a series to a plot.
func (s *Series) draw(p *plot.Plot, named bool, colour color.NRGBA) error {
	points := thin(s.Points)
	xys, bounds := make(plotter.XYs, len(points)), make(plotter.YErrors, len(points))
	bounded := false
	for i, point := range points {
		xys[i] = plotter.XY{X: point.X, Y: point.Y}
		if point.Bounded {
			bounded = true
			bounds[i].Low, bounds[i].High = point.Y-point.Low, point.High-point.Y
		}
	}
	if bounded {
		if err := drawBounds(p, xys, bounds, points, named || s.Form == Marker, colour); err != nil {
			return err
		}
	}
	if s.Form == Points || s.Form == Marker {
		dots, err := plotter.NewScatter(xys)
		if err != nil {
			return err
		}
		dots.Color, dots.Radius, dots.Shape = colour, vg.Points(1.2), draw.CircleGlyph{}
		if s.Form == Marker {
			dots.Radius, dots.Shape = vg.Points(4), draw.RingGlyph{}
		}
		p.Add(dots)
		p.Legend.Add(shorten(s.Name, 40), dots)
		return nil
	}
	line, err := plotter.NewLine(xys)
	if err != nil {
		return err
	}
	line.Color, line.Width = colour, vg.Points(1)
	if s.Form == Step {
		line.StepStyle = plotter.PostStep
	}
	p.Add(line)
	p.Legend.Add(shorten(s.Name, 40), line)
	return nil
}

// drawBounds draws bounds as bars, or along a line as an area.
func drawBounds(p *plot.Plot, xys plotter.XYs, bounds plotter.YErrors, points []Point, asBars bool,
	colour color.NRGBA) error {
	if asBars {
		bars, err := plotter.NewYErrorBars(struct {
			plotter.XYs
			plotter.YErrors
		}{xys, bounds})
		if err != nil {
			return err
		}
		bars.Color = colour
		p.Add(bars)
		return nil
	}
	outline := make(plotter.XYs, 0, 2*len(points))
	for _, point := range points {
		outline = append(outline, plotter.XY{X: point.X, Y: point.High})
	}
	for i := len(points) - 1; i >= 0; i-- {
		outline = append(outline, plotter.XY{X: points[i].X, Y: points[i].Low})
	}
	area, err := plotter.NewPolygon(outline)
	if err != nil {
		return err
	}
	area.Color, area.Width = color.NRGBA{colour.R, colour.G, colour.B, 0x40}, 0
	p.Add(area)
	return nil
}
