package machine

import (
	"io/fs"
	"strconv"
	"strings"
)

// reader reads small files; what is missing or odd reads as nothing.
type reader struct{ root fs.FS }

func (r reader) text(name string) string {
	data, err := fs.ReadFile(r.root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func (r reader) number(name string) (int64, bool) {
	n, err := strconv.ParseInt(r.text(name), 10, 64)
	return n, err == nil
}

func (r reader) exists(name string) bool {
	_, err := fs.Stat(r.root, name)
	return err == nil
}

// field is the value of the first line "key: value" or "key=value" of a text; quotes around it are taken off.
func field(text, key, separator string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, separator); ok && strings.TrimSpace(k) == key {
			return strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	return ""
}

// chosen is the word in brackets of "always [madvise] never".
func chosen(text string) string {
	_, rest, ok := strings.Cut(text, "[")
	if !ok {
		return ""
	}
	word, _, _ := strings.Cut(rest, "]")
	return word
}
