package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"msgbench/results/hist"
)

// Journal is the append-only file of samples: one JSON object a line, written with one call as soon as the sample has
// ended. A line without its line feed is one that a crash cut off.
type Journal struct {
	f     *os.File
	path  string
	index *Index
}

// OpenJournal opens or makes the journal at path for appending. It refuses a journal that another process writes. A last
// line that a crash cut off is removed, so that the next sample starts a line of its own.
func OpenJournal(path string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: another msgbench writes it: %w", path, err)
	}
	j := &Journal{f: f, path: path}
	if err := j.dropCut(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return j, nil
}

// dropCut removes what follows the last line feed.
func (j *Journal) dropCut() error {
	end, err := j.f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	block := make([]byte, 64<<10)
	for whole := end; whole > 0; {
		n := min(whole, int64(len(block)))
		if _, err := j.f.ReadAt(block[:n], whole-n); err != nil {
			return err
		}
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			whole += int64(i) + 1 - n
			if whole == end {
				return nil
			}
			return j.f.Truncate(whole)
		}
		whole -= n
	}
	if end == 0 {
		return nil
	}
	return j.f.Truncate(0)
}

// Append writes one sample. After an error nothing of the sample counts: a torn line is taken back.
func (j *Journal) Append(s Sample) error {
	s.Version = FormatVersion
	line, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	before, err := j.f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := j.f.Write(append(line, '\n')); err != nil {
		return errors.Join(err, j.f.Truncate(before))
	}
	if j.index != nil {
		j.index.keep(Entry{s.Cell, s.Outcome, s.Attempt, s.Round, s.Try, before, len(line)})
	}
	return nil
}

// Index says what the journal holds, from now on also what is appended.
func (j *Journal) Index() (*Index, error) {
	if j.index != nil {
		return j.index, nil
	}
	x, err := readIndex(j.f, j.path)
	if err != nil {
		return nil, err
	}
	j.index = x
	return x, nil
}

// Close makes the journal durable and lets go of it.
func (j *Journal) Close() error { return errors.Join(j.f.Sync(), j.f.Close()) }

// ParseJournal reads the samples of a journal. A last line without line feed was cut off by a crash: it is left out, and
// cut is its length in bytes. Any other line that is not a sample is an error that names its number.
func ParseJournal(data []byte) (samples []Sample, cut int, err error) {
	for n := 1; len(data) > 0; n++ {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return samples, len(data), nil
		}
		s, err := parseSample(data[:end], nil)
		if err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
		s.Line = n
		samples = append(samples, s)
		data = data[end+1:]
	}
	return samples, 0, nil
}

// parseSample reads one line.
func parseSample(line []byte, use *spare) (s Sample, err error) {
	if err := decode(line, &s, use); err != nil {
		return s, fmt.Errorf("not a sample: %w", err)
	}
	return s, s.check()
}

// ReadJournal reads the journal at path; see ParseJournal.
func ReadJournal(path string) (samples []Sample, cut int, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	samples, cut, err = ParseJournal(data)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return samples, cut, nil
}

// check refuses a sample that no run writes.
func (s *Sample) check() error {
	if s.Version != FormatVersion {
		return fmt.Errorf("sample version %d, this msgbench reads %d", s.Version, FormatVersion)
	}
	if s.Cell == "" {
		return errors.New("sample without a cell")
	}
	if s.Order < 0 || s.Round < 0 || s.Attempt < 0 || s.Try < 0 {
		return fmt.Errorf("order %d, round %d, attempt %d, try %d: want 0 or more", s.Order, s.Round, s.Attempt, s.Try)
	}
	if err := s.Interference.Check(); err != nil {
		return err
	}
	switch s.Outcome {
	case Calibrated:
		return s.Calibration.check(s.Reason)
	case Failed, Skipped:
		if s.Reason == "" {
			return fmt.Errorf("%s sample without a reason", s.Outcome)
		}
		return nil
	case Search:
		switch {
		case s.Step == nil || s.Step.Rate < 1:
			return errors.New("step without its rate")
		case !s.Step.Holds && s.Reason == "":
			return errors.New("step that does not hold without a reason")
		case !s.Step.Holds && s.Measurement == nil: // a process failed
			return nil
		}
	case Disturbed:
		if s.Interference == nil {
			return errors.New("disturbed sample without its interference")
		}
	case OK, Rejected:
	default:
		return fmt.Errorf("outcome %q: want ok, rejected, disturbed, failed, skipped, step or calibration", s.Outcome)
	}
	if s.Measurement == nil {
		return fmt.Errorf("%s sample without a measurement", s.Outcome)
	}
	return s.Measurement.Check()
}

// Check refuses a measurement that contradicts itself, so that a wrong number never becomes a row.
func (m *Measurement) Check() error {
	if m.WindowNs <= 0 {
		return fmt.Errorf("window_ns is %d, want more than 0", m.WindowNs)
	}
	for _, c := range []struct {
		name string
		v    int64
	}{
		{"ops", m.Ops}, {"messages", m.Messages}, {"payload_bytes", m.PayloadBytes}, {"sent", m.Sent},
		{"received", m.Received}, {"lost", m.Lost}, {"duplicated", m.Duplicated}, {"reordered", m.Reordered},
		{"pacer_ns", m.PacerNs},
	} {
		if c.v < 0 {
			return fmt.Errorf("%s is %d, want 0 or more", c.name, c.v)
		}
	}
	if m.Ops == 0 {
		return errors.New("no operation in the window")
	}
	for role, ns := range m.CPUNs {
		if ns < 0 {
			return fmt.Errorf("cpu_ns of the %s is %d, want 0 or more", role, ns)
		}
	}
	if len(m.Thirds) != 0 && len(m.Thirds) != 3 {
		return fmt.Errorf("thirds has %d values, want 3", len(m.Thirds))
	}
	for _, h := range []*hist.Hist{m.Latency, m.Service, m.Lateness} {
		if h.Count() == 0 {
			continue
		}
		if v, _ := h.Min(); v < 0 {
			return fmt.Errorf("a latency of %d ns: the clocks of the two sides do not agree", v)
		}
	}
	return nil
}
