package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
)

// Index says which samples a journal holds, and where, without what was measured: some 100 bytes a sample, where the sample
// itself takes 20 KB and more. So a run of any length can be resumed, and cells be looked at one by one.
type Index struct {
	Entries []Entry // in the order of the journal
	Cut     int     // bytes after the last line feed, which a crash cut off
	r       io.ReaderAt
	path    string
	byCell  map[string][]int32
}

// Entry is the head of one line of a journal.
type Entry struct {
	Cell, Outcome       string
	Attempt, Round, Try int
	at                  int64
	size                int // without the line feed
}

// Heads of lines are looked at in the first headSize bytes, and the file is read in blocks.
const (
	headSize  = 4 << 10
	blockSize = 1 << 20
)

// readIndex reads the heads of all lines. That a whole line is a sample shows only when it is read; here it must begin as one,
// end as one, and hold no zero byte, which is what a file system leaves after a power cut.
func readIndex(r io.ReaderAt, path string) (*Index, error) {
	x := &Index{r: r, path: path, byCell: map[string][]int32{}}
	block := make([]byte, blockSize)
	var head []byte // of the line that the blocks so far have begun
	var last byte   // of it
	var begun, at int64
	for {
		n, err := r.ReadAt(block, at)
		for rest := block[:n]; len(rest) > 0; {
			end := bytes.IndexByte(rest, '\n')
			part := rest
			if end >= 0 {
				part = rest[:end]
			}
			if bytes.IndexByte(part, 0) >= 0 {
				return nil, fmt.Errorf("%s: line %d: not a sample: it holds zero bytes", path, len(x.Entries)+1)
			}
			if room := headSize - len(head); room > 0 {
				head = append(head, part[:min(room, len(part))]...)
			}
			if len(part) > 0 {
				last = part[len(part)-1]
			}
			if end < 0 {
				break
			}
			from := at + int64(n-len(rest))
			size := int(from + int64(end) - begun)
			if err := x.add(head, last, begun, size); err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", path, len(x.Entries)+1, err)
			}
			begun, head, last = begun+int64(size)+1, head[:0], 0
			rest = rest[end+1:]
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			x.Cut = int(at - begun)
			return x, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// add keeps the head of a line. One that is not as Append writes it is read whole.
func (x *Index) add(head []byte, last byte, at int64, size int) error {
	e, ok := scanHead(head)
	if !ok || last != '}' {
		line := make([]byte, size)
		if _, err := x.r.ReadAt(line, at); err != nil {
			return err
		}
		s, err := parseSample(line, nil)
		if err != nil {
			return err
		}
		e = Entry{Cell: s.Cell, Outcome: s.Outcome, Attempt: s.Attempt, Round: s.Round, Try: s.Try}
	}
	e.at, e.size = at, size
	x.keep(e)
	return nil
}

// keep adds an entry, with one copy of the key for all samples of a cell.
func (x *Index) keep(e Entry) {
	if list := x.byCell[e.Cell]; len(list) > 0 {
		e.Cell = x.Entries[list[0]].Cell
	}
	x.byCell[e.Cell] = append(x.byCell[e.Cell], int32(len(x.Entries)))
	x.Entries = append(x.Entries, e)
}

// scanHead reads the head of a line as Append writes it.
func scanHead(b []byte) (e Entry, ok bool) {
	s := headScanner{b, true}
	s.skip(`{"v":` + strconv.Itoa(FormatVersion) + `,"cell":"`)
	e.Cell = s.text()
	s.skip(`,"order":`)
	s.number()
	s.skip(`,"round":`)
	e.Round = s.number()
	s.skip(`,"attempt":`)
	e.Attempt = s.number()
	s.skip(`,"try":`)
	e.Try = s.number()
	s.skip(`,"started":"`)
	s.text()
	s.skip(`,"outcome":"`)
	word := s.text()
	for _, o := range []string{OK, Rejected, Failed, Skipped, Search, Disturbed, Calibrated} {
		if word == o {
			e.Outcome = o
		}
	}
	return e, s.ok && e.Cell != "" && e.Outcome != ""
}

// headScanner goes through the head of a line. Once not ok, it stays so.
type headScanner struct {
	left []byte
	ok   bool
}

func (s *headScanner) skip(what string) {
	if len(s.left) < len(what) || string(s.left[:len(what)]) != what {
		s.ok = false
		return
	}
	s.left = s.left[len(what):]
}

// text is what comes before the closing quote, which is skipped. One with an escape is not ok.
func (s *headScanner) text() string {
	end := bytes.IndexByte(s.left, '"')
	if end < 0 || bytes.IndexByte(s.left[:end], '\\') >= 0 {
		s.ok = false
		return ""
	}
	v := string(s.left[:end])
	s.left = s.left[end+1:]
	return v
}

// number is an integer from 0 of at most 9 digits.
func (s *headScanner) number() (v int) {
	n := 0
	for n < len(s.left) && n < 10 && s.left[n] >= '0' && s.left[n] <= '9' {
		v = v*10 + int(s.left[n]-'0')
		n++
	}
	s.ok = s.ok && n > 0 && n < 10
	s.left = s.left[n:]
	return v
}

// Has tells whether there is any sample of a cell.
func (x *Index) Has(cell string) bool { return len(x.byCell[cell]) > 0 }

// Cells are the keys of the cells that have samples, in the order in which they appear; CalibrationCell may be among them.
func (x *Index) Cells() []string {
	keys := make([]string, 0, len(x.byCell))
	for i, e := range x.Entries {
		if int(x.byCell[e.Cell][0]) == i {
			keys = append(keys, e.Cell)
		}
	}
	return keys
}

// Of reads the samples of one cell, in the order of the journal, one at a time: a journal may be larger than the memory. The
// histograms of a sample are good until the next one is read. Line says where a sample stands. It ends with the first error.
func (x *Index) Of(cell string) iter.Seq2[Sample, error] { return x.read(x.byCell[cell], new(spare)) }

// All reads all samples, in the order of the journal. Their histograms are their own.
func (x *Index) All() iter.Seq2[Sample, error] {
	lines := make([]int32, len(x.Entries))
	for i := range lines {
		lines[i] = int32(i)
	}
	return x.read(lines, nil)
}

func (x *Index) read(lines []int32, use *spare) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		var buf []byte
		for _, i := range lines {
			e := x.Entries[i]
			buf = slices.Grow(buf[:0], e.size)[:e.size]
			_, err := x.r.ReadAt(buf, e.at)
			var s Sample
			if err == nil {
				s, err = parseSample(buf, use)
			}
			if err != nil {
				yield(Sample{}, fmt.Errorf("%s: line %d: %w", x.path, i+1, err))
				return
			}
			s.Line = int(i) + 1
			if !yield(s, nil) {
				return
			}
		}
	}
}

// OpenIndex reads the index of the journal at path. close lets go of the file, without which no sample can be read.
func OpenIndex(path string) (x *Index, close func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if x, err = readIndex(f, path); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return x, f.Close, nil
}
