// Package plain has the small pieces of text that all outputs share.
package plain

import (
	"strconv"
	"strings"
	"unicode"
)

// OneLine keeps text from another machine from ending a line of ours, and from turning the direction of writing.
func OneLine(s string) string {
	if printable(s) {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r >= 0x80 && (unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Bidi_Control))
	}), " ")
}

// printable tells text of ASCII without control characters, and with single spaces within only.
func printable(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c > ' ' && c < 0x7f:
		case c == ' ' && i > 0 && i < len(s)-1 && s[i-1] != ' ':
		default:
			return false
		}
	}
	return true
}

// markdown keeps text from being markup, and from calling people or becoming a link on a forge.
var markdown = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`,
	"[", `\[`, "]", `\]`, "~", `\~`, "@", "&#64;", "://", ":&#47;/", "www.", "www&#46;")

// Markdown makes text safe within a table.
func Markdown(s string) string {
	if harmless(s) { // most are numbers, and there are many of them
		return s
	}
	return markdown.Replace(OneLine(s))
}

// harmless tells text that holds nothing but what numbers, names and reasons are made of, and single spaces within.
func harmless(s string) bool {
	for i, c := range s {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.' && (i < 3 || s[i-3:i] != "www"):
		case c == '-', c == '%', c == '=', c == ',', c == ';', c == '/', c == '+', c == '(', c == ')':
		case c == ':' && (i+1 == len(s) || s[i+1] != '/'):
		case c == '–', c == '→', c == '≤', c == '·', c == 'µ', c == '×':
		case c == ' ' && i > 0 && i < len(s)-1 && s[i-1] != ' ':
		default:
			return false
		}
	}
	return true
}

// Field makes text safe in a CSV that a spreadsheet may open: nothing of it is taken for a formula.
func Field(s string) string {
	s = OneLine(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) && !isNumber(s) {
		return "'" + s
	}
	return s
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// Figure is a value of a column for people: 2.48M, 65.3k, 998 for rates; up to three digits after the point otherwise.
func Figure(column string, v float64) string {
	if strings.HasPrefix(column, "throughput") || column == "messages_per_s" {
		switch {
		case v >= 999_950:
			return strconv.FormatFloat(v/1e6, 'f', 2, 64) + "M"
		case v >= 999.5:
			return strconv.FormatFloat(v/1e3, 'f', 1, 64) + "k"
		}
	}
	digits := 3
	switch {
	case v >= 99.95 || v <= -99.95:
		digits = 0
	case v >= 9.995 || v <= -9.995:
		digits = 1
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Unit is the unit of a column, empty for a plain number.
func Unit(column string) string {
	switch {
	case strings.HasPrefix(column, "throughput"):
		return "/s"
	case column == "messages_per_s":
		return "messages/s"
	case column == "mb_per_s":
		return "MB/s"
	case column == "cpu_ns_per_op":
		return "ns"
	case strings.HasSuffix(column, "_us"), column == "p50_lo", column == "p50_hi", column == "p99_lo", column == "p99_hi":
		return "µs"
	case strings.HasSuffix(column, "_pct"):
		return "%"
	case strings.HasSuffix(column, "_bytes"):
		return "B"
	}
	return ""
}

// Plural is "1 cell", "2 cells".
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}
