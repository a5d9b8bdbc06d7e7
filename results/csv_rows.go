package results

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"sync"
)

// fault is what is wrong with a record: where it begins, and the line within it, from 1.
type fault struct {
	at, line int
	err      error
}

// parseRows decodes records, of which data holds whole lines, in n parts at once. The fault is the first in the order of the file.
func parseRows(data []byte, header []string, n int) ([]Row, *fault) {
	parts := make([]rowParser, n)
	room := 0
	for i, from := 0, 0; i < len(parts); i++ {
		to := len(data)
		if i < len(parts)-1 {
			to = recordEnd(data, from, len(data)/len(parts)*(i+1))
		}
		parts[i] = rowParser{data: data[from:to], from: from, header: header, first: room}
		// Each part gets room for the rows that it can have at most: one a line, and none is shorter than its commas.
		room += min(bytes.Count(data[from:to], []byte("\n")), (to-from)/len(header))
		from = to
	}
	rows := make([]Row, room)
	var done sync.WaitGroup
	for i := range parts {
		done.Go(func() { parts[i].parse(rows) })
	}
	done.Wait()
	used := 0
	for _, p := range parts {
		if p.fault != nil {
			return nil, p.fault
		}
		if p.first > used { // a part before had fewer rows than lines
			copy(rows[used:], rows[p.first:p.first+p.count])
		}
		used += p.count
	}
	return rows[:used:used], nil
}

// recordEnd is where the first record ends that reaches to near or beyond it; from is where one begins. A line feed ends a
// record where an even number of quotes stands before it. Quotes that belong nowhere may mislead it, but only beyond the record
// that they are in, which is a fault itself.
func recordEnd(data []byte, from, near int) int {
	end := max(from, near)
	odd := bytes.Count(data[from:end], []byte(`"`))%2 == 1
	for end < len(data) {
		line := data[end : end+bytes.IndexByte(data[end:], '\n')+1]
		end += len(line)
		if odd = odd != (bytes.Count(line, []byte(`"`))%2 == 1); !odd {
			break
		}
	}
	return end
}

// rowParser decodes a part of the records, into the rows from first on.
type rowParser struct {
	data   []byte
	from   int // of data in the whole
	header []string
	first  int
	count  int
	fault  *fault // at which it stopped

	row    Row      // the one at hand
	into   []any    // its fields, in the order of the header: *Num or *string
	fields [][]byte // of the record
	buf    []byte   // of fields that are not parts of data
	reader *bufio.Reader
	words  map[string]string
}

func (p *rowParser) parse(rows []Row) {
	p.words = map[string]string{}
	for _, h := range p.header {
		p.into = append(p.into, columnOf[h].in(&p.row))
	}
	for at := 0; at < len(p.data); {
		size := bytes.IndexByte(p.data[at:], '\n') + 1
		line := bytes.TrimSuffix(p.data[at:at+size-1], []byte("\r"))
		if len(line) == 0 {
			at += size
			continue
		}
		inRecord := 1
		err := p.split(line)
		if errors.Is(err, errHard) {
			size, inRecord, err = p.read(p.data[at:])
		}
		if err == nil {
			err = p.decode()
		}
		if err != nil {
			p.fault = &fault{p.from + at, inRecord, err}
			return
		}
		rows[p.first+p.count] = p.row
		p.count++
		at += size
	}
}

var errHard = errors.New("a line with more than commas and quotes around fields")

// split cuts a record of one line into its fields. What takes more than looking for commas and quotes (an escaped quote, a line
// feed within quotes, a fault) it leaves to read: that takes four times as long.
func (p *rowParser) split(line []byte) error {
	p.fields = p.fields[:0]
	for {
		end := 0
		if len(line) > 0 && line[0] == '"' {
			line = line[1:]
			end = bytes.IndexByte(line, '"')
			if end < 0 || end+1 < len(line) && line[end+1] != ',' {
				return errHard
			}
			p.fields = append(p.fields, line[:end])
			end++
		} else {
			for end < len(line) && line[end] != ',' {
				if line[end] == '"' {
					return errHard
				}
				end++
			}
			p.fields = append(p.fields, line[:end])
		}
		if end == len(line) {
			return nil
		}
		line = line[end+1:]
	}
}

// read reads the first record of data, whose size it gives; of a fault, the line.
func (p *rowParser) read(data []byte) (size, line int, err error) {
	if p.reader == nil {
		p.reader = bufio.NewReader(nil)
	}
	p.reader.Reset(bytes.NewReader(data))
	r := csv.NewReader(p.reader) // which does not buffer a second time
	record, err := r.Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return 0, parse.Line, parse.Err
	}
	p.fields, p.buf = p.fields[:0], p.buf[:0]
	for _, f := range record {
		n := len(p.buf)
		p.buf = append(p.buf, f...)
		p.fields = append(p.fields, p.buf[n:])
	}
	return int(r.InputOffset()), 1, err
}

// decode reads the fields into the row.
func (p *rowParser) decode() (err error) {
	if len(p.fields) != len(p.header) {
		return fmt.Errorf("want %d fields: the row was cut short or has too many", len(p.header))
	}
	for i, f := range p.fields {
		switch v := p.into[i].(type) {
		case *Num:
			if *v, err = parseNum(f); err != nil {
				return fmt.Errorf("column %s: %w", p.header[i], err)
			}
		case *string:
			if string(f) != *v { // most texts are those of the row before
				*v = p.word(f, v == &p.row.Cell)
			}
		}
	}
	return p.row.check()
}

// word is a text, of which a few are in all rows, so that one copy of each will do.
func (p *rowParser) word(b []byte, once bool) string {
	const most = 10_000 // reasons may differ in each row
	if w, ok := p.words[string(b)]; ok {
		return w
	}
	w := string(b)
	if !once && len(p.words) < most {
		p.words[w] = w
	}
	return w
}
