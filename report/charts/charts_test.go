package charts

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/png"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"msgbench/report/internal/example"
	"msgbench/report/internal/golden"
	"msgbench/results"
	"msgbench/stability"
)

// TestGolden has the first chart of each kind, as a file and, for one, as part of a page.
func TestGolden(t *testing.T) {
	table, strips := example.Table()
	seen := map[Kind]bool{}
	for _, c := range Of(split(table.Rows), strips) {
		if seen[c.Kind] {
			continue
		}
		seen[c.Kind] = true
		golden.Check(t, string(c.Kind)+".svg", c.SVG())
		if c.Kind == Throughput {
			golden.Check(t, "inline.svg", c.Inline())
		}
	}
	if len(seen) != len(kinds) {
		t.Errorf("kinds drawn: %v", seen)
	}
	golden.Check(t, "charts.css", CSS())
}

// TestNames: the charts of a run have file names of their own, and the same ones every time.
func TestNames(t *testing.T) {
	table, strips := example.Table()
	list := Of(split(table.Rows), strips)
	again := Of(split(table.Rows), strips)
	seen := map[string]bool{}
	for i, c := range list {
		if seen[c.Name] || !regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`).MatchString(c.Name) {
			t.Errorf("name %q", c.Name)
		}
		seen[c.Name] = true
		if again[i].Name != c.Name || again[i].SVG() != c.SVG() {
			t.Errorf("%s is not the same the second time", c.Name)
		}
	}
	for in, want := range map[string]string{"../../etc/x": "etc-x", "a · B/µ=1": "a-b-1", "...": "", strings.Repeat("é", 300): ""} {
		if got := fileName(in); got != want {
			t.Errorf("fileName(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestNothingToShow: no chart of one value, of no figures, or across machines.
func TestNothingToShow(t *testing.T) {
	table, _ := example.Table()
	kindsOf := func(rows ...results.Row) (k []Kind) {
		for _, c := range Of(split(rows), nil) {
			k = append(k, c.Kind)
		}
		return k
	}
	one := table.Rows[0] // at max
	if k := kindsOf(one); !slices.Equal(k, []Kind{Tail}) {
		t.Errorf("one row: %v, want its percentiles only", k)
	}
	other := one
	other.Machine, other.Transport = "laptop", "tcp"
	if k := kindsOf(one, other); !slices.Equal(k, []Kind{Tail, Tail}) {
		t.Errorf("two machines: %v, want a chart for each", k)
	}
	other.Machine = one.Machine
	if k := kindsOf(one, other); !slices.Equal(k, []Kind{Throughput, Tail}) {
		t.Errorf("two transports: %v", k)
	}
	if k := kindsOf(results.Row{Cell: "x", Verdict: results.Failed}, results.Row{Cell: "y", Verdict: results.Failed}); k != nil {
		t.Errorf("failed rows: %v", k)
	}
	if k := kindsOf(); k != nil {
		t.Errorf("no rows: %v", k)
	}
}

// TestHostile: no text and no figure makes a chart that is not one.
func TestHostile(t *testing.T) {
	table, strips := example.Table()
	const bad = "</text><script>x</script>\x00\x1f\u202e\xff\ufffe&amp;]]>'\"" // and more than fits
	values := []float64{0, 1e-3, 1e300, -5, 1e9}
	for i := range table.Rows {
		r := &table.Rows[i]
		r.Transport, r.Machine, r.Scenario, r.Client = bad+r.Transport, bad, bad, r.Client+bad
		r.P50Us, r.P99Us, r.Throughput = results.N(values[i%5]), results.N(values[(i+1)%5]), results.N(values[(i+2)%5])
		r.ThroughputLo, r.P50Hi = results.N(values[(i+3)%5]), results.N(values[(i+4)%5])
	}
	for i := range strips {
		strips[i].Tail = append(strips[i].Tail, stability.Quantile{Q: 0.9999999, Us: 0})
		for n := range strips[i].Points {
			strips[i].Points[n].Value = values[n%5]
		}
	}
	list := Of(split(table.Rows), strips)
	for _, c := range list {
		for _, svg := range []string{c.SVG(), c.Inline()} {
			d := xml.NewDecoder(strings.NewReader(svg))
			for {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", c.Name, err)
				}
				if e, ok := token.(xml.StartElement); ok && !slices.Contains([]string{"svg", "rect", "path", "text", "g", "title"}, e.Name.Local) {
					t.Fatalf("%s: element %s", c.Name, e.Name.Local)
				}
			}
			if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Fatalf("%s: a coordinate is no number", c.Name)
			}
		}
	}
	if len(list) < 10 {
		t.Errorf("%d charts", len(list))
	}
	if _, err := list[0].PNG(); err != nil {
		t.Error(err)
	}
}

// TestPNG: a picture with the ink of each kind of stroke, and the same bytes every time.
func TestPNG(t *testing.T) {
	table, strips := example.Table()
	seen := map[Kind]bool{}
	for _, c := range Of(split(table.Rows), strips) {
		if seen[c.Kind] {
			continue
		}
		seen[c.Kind] = true
		data, err := c.PNG()
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.PNG()
		if err != nil || !bytes.Equal(data, again) {
			t.Errorf("%s: not the same bytes, %v", c.Name, err)
		}
		img, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if w := img.Bounds().Dx(); w != width*scale {
			t.Errorf("%s is %d pixels wide", c.Name, w)
		}
		colours := count(img)
		if colours[light[inkPaper]] < img.Bounds().Dx()*img.Bounds().Dy()/3 || colours[light[inkText]] == 0 {
			t.Errorf("%s: no paper or no text", c.Name)
		}
		if c.Kind != Pairs && colours[light[inkSeries]] == 0 {
			t.Errorf("%s: no ink of the first series", c.Name)
		}
	}
}

func count(img image.Image) map[rgb]int {
	n := map[rgb]int{}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := img.At(x, y).RGBA()
			n[rgb(r>>8<<16|g>>8<<8|bl>>8)]++
		}
	}
	return n
}

func split(rows []results.Row) []Group {
	var list []*results.Row
	for i := range rows {
		list = append(list, &rows[i])
	}
	return Split(list)
}

// Deliveries to two subscribers are twice as many: rows with another number of them do not share a chart of one point.
func TestSubscribersStandApart(t *testing.T) {
	var rows []results.Row
	for _, transport := range []string{"tcp", "uds"} {
		for _, subscribers := range []string{"1", "2"} {
			n, _ := strconv.ParseFloat(subscribers, 64)
			r := results.Row{Cell: "broadcast/" + transport + "/go-go/64B/max", Scenario: "broadcast", Transport: transport, Client: "go", Server: "go",
				Payload: results.N(64), Loop: results.Open, TargetRPS: "max", Mode: "flood", Subscribers: subscribers, Verdict: results.Stable,
				Throughput: results.N(1000), MessagesPerS: results.N(1000 * n), Lost: results.N(0)}
			if subscribers != "1" {
				r.Cell += "/subscribers=" + subscribers
			}
			rows = append(rows, r)
		}
	}
	var titles []string
	for _, c := range Of(split(rows), nil) {
		titles = append(titles, c.Title)
	}
	want := []string{"Throughput: broadcast · flood · messages delivered per second · 64 B · max rate · open loop",
		"Throughput: broadcast · flood · messages delivered per second · 64 B · 2 subscribers · max rate · open loop"}
	if !slices.Equal(titles, want) {
		t.Errorf("%q\nwant %q", titles, want)
	}
}

// Of a line, only what is unstable is drawn so: the other rows can be relied on.
func TestOneUnstablePointOfALine(t *testing.T) {
	table, _ := example.Table() // uds is unstable at 64 B, and not at the other three payloads
	for _, c := range Of(split(table.Rows), nil) {
		if c.Kind != ByPayload || !strings.Contains(c.Title, "max rate") || strings.Contains(c.Title, "→") {
			continue
		}
		svg := c.SVG()
		if !strings.Contains(svg, "~ uds; 8 B: 12") || !strings.Contains(svg, "; 64 B: ~ 12") || strings.Contains(svg, "; 1 KiB: ~ ") {
			t.Errorf("%s", svg)
		}
		_, line, _ := strings.Cut(svg, "<title>~ uds;")
		line, _, _ = strings.Cut(line, "</g>")
		if dashed := strings.Count(line, "stroke-dasharray"); dashed != 2 {
			t.Errorf("%d dashed pieces, want those at either side of 64 B:\n%s", dashed, line)
		}
		return
	}
	t.Error("no chart by payload at max")
}
