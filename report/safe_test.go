package report

import (
	"regexp"
	"strings"
	"testing"

	"msgbench/results"
)

// hostile is text that a CSV from elsewhere may hold.
const hostile = "x|y <script>alert(1)</script> [a](javascript:b) ![i](//c) `d` **e** ~~f~~ @g https://h www.i\u202e\u2028# j\n\n# k"

// unsafe is what must not come out of it.
var unsafe = regexp.MustCompile(`<script|[^\\]\[a\]|!\[i|[^\\]\*\*e|[^\\]~~f|@g|https://h|www\.i|\x{202e}|\x{2028}|(?m)^# [jk]`)

// TestMarkup: no text of a row, fact or note can make a table, a link, a heading or HTML.
func TestMarkup(t *testing.T) {
	d := document()
	r := &d.Rows[0]
	for _, f := range []*string{&r.Cell, &r.Scenario, &r.Transport, &r.Client, &r.Server, &r.Loop, &r.TargetRPS, &r.Wait, &r.Mode, &r.Depth,
		&r.Subscribers, &r.Scope, &r.Options, &r.Latency, &r.Pin, &r.CPURelation, &r.Machine, &r.Source, &r.Reason} {
		*f = hostile
	}
	for i := range d.Facts {
		d.Facts[i].Key += hostile
	}
	d.Facts = append(d.Facts, results.Fact{Key: "machine", Value: hostile}, results.Fact{Key: "cpu", Value: hostile}, results.Fact{Key: "suite", Value: hostile})
	d.Notes[0].Cell, d.Notes[0].Kind, d.Notes[0].Text, d.Name = hostile, hostile, hostile, hostile
	ref := reference(t)
	ref.Rows[0] = d.Rows[0]
	d.References = []results.Table{ref}
	pages := map[string]string{"platforms": Platforms([]Document{d, d})}
	for _, s := range Styles {
		pages[s.Name] = s.Render(d)
		d := d
		d.Run = nil
		pages[s.Name+" of a CSV"] = s.Render(d)
	}
	codes := regexp.MustCompile("`[^`]*`") // what stands in them is not markup
	for name, page := range pages {
		for line := range strings.Lines(page) {
			if m := unsafe.FindString(codes.ReplaceAllString(strings.ReplaceAll(line, "\\`", ""), "")); m != "" {
				t.Errorf("%s lets %q through: %s", name, m, line)
				break
			}
		}
		// Every line of a table has as many cells as its head.
		want := 0
		for line := range strings.Lines(page) {
			n := len(regexp.MustCompile(`(^|[^\\])\|`).FindAllString(line, -1))
			if !strings.HasPrefix(line, "|") {
				n = 0
			}
			if want > 0 && n > 0 && n != want {
				t.Errorf("%s: %d cells in a table of %d: %s", name, n, want, line)
				break
			}
			want = n
		}
	}
}
