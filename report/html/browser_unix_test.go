//go:build unix

package html

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"msgbench/report"
	"msgbench/report/internal/example"
)

// TestBrowser opens the page as people do.
func TestBrowser(t *testing.T) {
	b := startBrowser(t)
	t.Run("tables", func(t *testing.T) { tables(t, b) })
	t.Run("phone", func(t *testing.T) { phone(t, b) })
	t.Run("markup", func(t *testing.T) { markup(t, b) })
	t.Run("many", func(t *testing.T) { many(t, b) })
}

// write makes a page and returns its file.
func write(t *testing.T, docs ...report.Document) string {
	t.Helper()
	data, err := Page(docs...)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// helpers are functions for the expressions of the tests.
const helpers = `
var T = (n) => document.querySelectorAll("table.rows")[n];
var column = (n, name) => [...T(n).tHead.rows[0].cells].findIndex((c) => c.textContent.trim() === name);
var values = (n, name) => [...T(n).tBodies[0].rows].filter((r) => !r.hidden).map((r) => r.cells[column(n, name)].textContent);
var click = (n, name) => { T(n).tHead.rows[0].cells[column(n, name)].querySelector("button").click(); return values(n, name); };
var choose = (name, v) => {
	const s = document.querySelector("select[aria-label=" + name + "]");
	s.value = v;
	s.dispatchEvent(new Event("input", {bubbles: true}));
};
var type = (v) => { const i = document.getElementById("text"); i.value = v; i.dispatchEvent(new Event("input", {bubbles: true})); };
0`

func tables(t *testing.T, b *browser) {
	file := write(t, document())
	p := b.open(file)
	p.eval(helpers, nil)

	var rates []string
	p.eval(`click(0, "per second"); click(0, "per second")`, &rates)
	// 42 rows: those without figures last, above them the unstable one, though it is not the slowest.
	if n := len(rates); n < 30 || rates[0] != "2.50M" || rates[n-1] != "" || rates[n-2] != "" || rates[n-3] != "83.2k" {
		t.Errorf("falling: %v", rates)
	}
	p.eval(`click(0, "p50 µs")`, &rates)
	var p50 []float64
	p.eval(`values(0, "p50 µs").filter(Boolean).slice(0, -1).map(Number)`, &p50)
	if !slices.IsSorted(p50) || len(p50) < 30 {
		t.Errorf("rising p50: %v", p50)
	}
	var sorted []string
	p.eval(`click(0, "transport")`, &sorted)
	if sorted[0] != "nng-ipc" && sorted[0] != "~ uds" {
		t.Errorf("by name: %v", sorted)
	}
	var aria string
	p.eval(`T(0).querySelectorAll("[aria-sort]").length + T(0).querySelector("[aria-sort]").textContent`, &aria)
	if aria != "1transport" {
		t.Errorf("aria-sort: %q", aria)
	}

	var count string
	p.eval(`choose("transport", "shm"); choose("payload", "64"); document.getElementById("count").textContent`, &count)
	if count != "8 of 101 rows" {
		t.Errorf("filtered: %q", count)
	}
	var names []string
	p.eval(`[...new Set(values(0, "payload B"))]`, &names)
	if len(names) != 1 || names[0] != "64" {
		t.Errorf("payloads after the filter: %v", names)
	}
	p.eval(`type("rust"); values(0, "transport")`, &names)
	slices.Sort(names)
	if strings.Join(names, ",") != "shm go→rust,shm rust→go" {
		t.Errorf("rows with rust: %v", names)
	}
	var hidden bool
	p.eval(`T(1).closest("section").hidden`, &hidden)
	if !hidden {
		t.Error("a section without rows is shown")
	}
	p.eval(`document.querySelector("button[type=reset]").click();
		new Promise((ok) => setTimeout(() => ok(document.getElementById("count").textContent), 20))`, &count)
	if count != "101 rows" {
		t.Errorf("after Clear: %q", count)
	}
	var drawn [2]int
	p.eval(`(() => {
		const fold = document.querySelector("details.tail"), before = fold.querySelectorAll("svg").length;
		fold.open = true;
		return new Promise((ok) => setTimeout(() => ok([before, fold.querySelectorAll("svg text").length]), 50));
	})()`, &drawn)
	if drawn[0] != 0 || drawn[1] < 20 {
		t.Errorf("folded charts before and after opening: %v", drawn)
	}
	if list := p.complaints(file); len(list) > 0 {
		t.Errorf("%s", strings.Join(list, "\n"))
	}
}

// phone: nothing but the tables, which scroll by themselves, is wider than the display; both colour schemes are readable.
func phone(t *testing.T, b *browser) {
	file := write(t, document())
	p := b.open(file)
	p.call(p.session, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true}, nil)
	for _, scheme := range []string{"light", "dark"} {
		p.call(p.session, "Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]string{"name": "prefers-color-scheme", "value": scheme}}}, nil)
		var w struct {
			Page, Text, Contrast float64
		}
		p.eval(`(() => {
			const linear = (v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
			const light = (c) => { const [r, g, b] = c.match(/\d+/g).map(linear); return .2126 * r + .7152 * g + .0722 * b; };
			const paper = light(getComputedStyle(document.body).backgroundColor);
			const ratios = [...document.querySelectorAll("p, h2, td, th, summary, figure text")].map((e) => {
				const s = getComputedStyle(e), ink = light(e instanceof SVGElement ? s.fill : s.color);
				return (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
			});
			const text = document.querySelector("figure text[font-size='12']");
			return {Page: document.documentElement.scrollWidth, Text: text.getBoundingClientRect().height, Contrast: Math.min(...ratios)};
		})()`, &w)
		if w.Page > 390 {
			t.Errorf("%s: the page is %v px wide", scheme, w.Page)
		}
		if w.Text < 9 || w.Contrast < 4.5 {
			t.Errorf("%s: text of charts is %.1f px high, least contrast %.1f", scheme, w.Text, w.Contrast)
		}
		p.eval(`document.querySelectorAll("details").forEach((d) => d.open = true)`, nil)
		screenshot(t, p, "phone-"+scheme)
	}
	p.call(p.session, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 1300, "height": 1000, "deviceScaleFactor": 1, "mobile": false}, nil)
	screenshot(t, p, "desktop-dark")
	if list := p.complaints(file); len(list) > 0 {
		t.Errorf("%s", strings.Join(list, "\n"))
	}
}

// screenshot keeps a picture of the whole page for people, where MSGBENCH_SCREENSHOTS names a directory.
func screenshot(t *testing.T, p tab, name string) {
	dir := os.Getenv("MSGBENCH_SCREENSHOTS")
	if dir == "" {
		return
	}
	var s struct{ Data string }
	p.call(p.session, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &s)
	data, err := base64.StdEncoding.DecodeString(s.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// markup: text of a CSV runs nothing and adds no element.
func markup(t *testing.T, b *browser) {
	clean, d := document(), document()
	spoil(&d)
	p := b.open(write(t, d))
	var hurt string
	p.eval(`String(window.hurt) + document.querySelectorAll("img,iframe,object,a:not([href^='#'])").length + document.querySelectorAll("script").length`, &hurt)
	if hurt != "undefined01" {
		t.Errorf("text became markup: %s", hurt)
	}
	var formulas []string
	p.eval(`[...document.querySelectorAll("td")].map((c) => c.textContent).filter((s) => /^[=+@\t]/.test(s) || /^-./.test(s))`, &formulas)
	if len(formulas) > 0 {
		t.Errorf("formulas: %q", formulas)
	}
	// Were an escape forgotten, the policy of the page would still run nothing.
	data, err := Page(clean)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "broken.html")
	bad := strings.Replace(string(data), "</main>", "<script>window.hurt=1</script><img src=x onerror='window.hurt=2'></main>", 1)
	if err := os.WriteFile(file, []byte(bad), 0o644); err != nil {
		t.Fatal(err)
	}
	p = b.open(file)
	p.eval(`String(window.hurt)`, &hurt)
	if hurt != "undefined" {
		t.Error("a foreign script ran")
	}
}

// many: a large table shows its first rows, until all are asked for.
func many(t *testing.T, b *browser) {
	p := b.open(write(t, report.Document{Table: example.Many(2000)}))
	p.eval(helpers, nil)
	var shown [3]int
	p.eval(`(() => {
		const n = () => [...T(0).tBodies[0].rows].filter((r) => r.offsetHeight > 0).length;
		const a = n();
		click(0, "p99 µs");
		const b = n();
		document.querySelector(".more").click();
		return [a, b, n()];
	})()`, &shown)
	if shown != [3]int{firstRows, firstRows, 2000} {
		t.Errorf("rows shown at first, sorted and after \"Show all\": %v", shown)
	}
}
