package areg

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"msgbench/results/hist"
)

// Samples is what the consumer has written of one window. Times are in ns of CLOCK_MONOTONIC.
type Samples struct {
	Latency *hist.Hist // t4 − t1
	Between *hist.Hist // from the end of each operation to the beginning of the next
	First   int64      // t1 of the first
	Ends    []int64    // t4 of each, ascending
	Step    int64      // greatest common divisor of all latencies: what they were rounded to
}

// header names the columns: the number of the sample from 1, its mode, when it was sent, when the provider answered (0 for
// a broadcast), when it came (or the answer), and the difference of the last and the first, in ns and in µs.
const header = "seq,mode,t1_ns,t2_ns,t4_ns,rtt_ns,rtt_us"

const fields = 7

// maxLine is how many bytes a line of the file may have.
const maxLine = 1024

// ReadSamples reads the consumer's file of a window in that mode, line by line. A file that is cut off, another mode, an
// answer before its request, two in flight where one may be, or a sample missing, twice or out of place is an error.
func ReadSamples(r io.Reader, mode string) (*Samples, error) {
	p := &parser{in: bufio.NewReaderSize(r, 1<<20), mode: mode, told: -1, s: &Samples{Latency: hist.New(), Between: hist.New()}}
	if err := p.head(); err != nil {
		return nil, err
	}
	for {
		line, err := p.line()
		if err == io.EOF {
			return p.s, p.end()
		}
		if err != nil {
			return nil, err
		}
		if err := p.sample(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", samplesFile, p.at, err)
		}
	}
}

type parser struct {
	in                          *bufio.Reader
	at                          int // number of the line
	mode                        string
	told                        int64 // samples that the head announces; -1: it does not tell
	s                           *Samples
	last, lost, twice, misplace int64
}

// line returns the next line without its end. Each has one: a writer that died leaves a piece of a line.
func (p *parser) line() (string, error) {
	b, err := p.in.ReadSlice('\n')
	p.at++
	switch {
	case err == io.EOF && len(b) == 0:
		return "", io.EOF
	case err == io.EOF:
		return "", fmt.Errorf("%s:%d: the line is cut off", samplesFile, p.at)
	case err != nil && !errors.Is(err, bufio.ErrBufferFull):
		return "", err
	case len(b) > maxLine || err != nil:
		return "", fmt.Errorf("%s:%d: a line of more than %d bytes", samplesFile, p.at, maxLine)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// head reads the comments and the names of the columns.
func (p *parser) head() error {
	for {
		line, err := p.line()
		if err == io.EOF {
			return fmt.Errorf("%s is empty", samplesFile)
		}
		if err != nil {
			return err
		}
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			for _, word := range strings.Split(comment, ",") {
				if v, ok := strings.CutPrefix(strings.TrimSpace(word), "count="); ok {
					if p.told, err = strconv.ParseInt(v, 10, 64); err != nil {
						return fmt.Errorf("%s:%d: count=%q is not a number", samplesFile, p.at, v)
					}
				}
			}
			continue
		}
		if line != header {
			return fmt.Errorf("%s:%d: columns %.80q, want %q: another version of areg-sdk?", samplesFile, p.at, line, header)
		}
		return nil
	}
}

func (p *parser) sample(line string) error {
	f := strings.Split(line, ",")
	if len(f) != fields {
		return fmt.Errorf("%d fields, want %d", len(f), fields)
	}
	if f[1] != p.mode {
		return fmt.Errorf("mode %.20q, asked for %q", f[1], p.mode)
	}
	var n [fields]int64
	for i, text := range f[:fields-1] {
		if i == 1 {
			continue
		}
		var err error
		if n[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("%.40q is not a number", text)
		}
	}
	seq, t1, t2, t4 := n[0], n[2], n[3], n[4]
	switch {
	case t1 <= 0 || t4 < t1:
		return fmt.Errorf("sent at %d, there at %d: the clocks do not agree", t1, t4)
	case n[5] != t4-t1:
		return fmt.Errorf("rtt_ns is %d, t4_ns − t1_ns is %d", n[5], t4-t1)
	case strings.HasPrefix(p.mode, "pp") && (t2 < t1 || t2 > t4):
		return fmt.Errorf("answered at %d, not between %d and %d: the clocks do not agree", t2, t1, t4)
	}
	p.count(seq)
	if len(p.s.Ends) == 0 {
		p.s.First = t1
	} else if before := p.s.Ends[len(p.s.Ends)-1]; t1 >= before {
		p.s.Between.Record(t1 - before)
	} else {
		return fmt.Errorf("sent at %d, before the last one was there (%d): more than one in flight", t1, before)
	}
	p.s.Ends = append(p.s.Ends, t4)
	p.s.Latency.Record(t4 - t1)
	p.s.Step = gcd(p.s.Step, t4-t1)
	return nil
}

// count checks the numbers of the samples, which go up by one from 1.
func (p *parser) count(seq int64) {
	switch {
	case seq == p.last && seq > 0:
		p.twice++
	case seq <= p.last:
		p.misplace++
	default:
		p.lost += seq - p.last - 1
		p.last = seq
	}
}

func (p *parser) end() error {
	n := int64(len(p.s.Ends))
	switch {
	case n == 0:
		return fmt.Errorf("%s has no samples", samplesFile)
	case p.lost+p.twice+p.misplace > 0:
		return fmt.Errorf("%s: %d samples are missing, %d there twice, %d out of place", samplesFile, p.lost, p.twice, p.misplace)
	case p.told >= 0 && p.told != n:
		return fmt.Errorf("%s has %d samples, its head says %d", samplesFile, n, p.told)
	}
	return nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
