package bench

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"msgbench/results"
)

//go:embed suites/*.yaml
var builtin embed.FS

// Suite is a named list of cells and the policy they are measured by.
type Suite struct {
	Name    string
	Summary string
	Policy  results.Policy
	Pin     string // plan; empty: the default one
	PinAt   string // where it stands: FILE:LINE
	Cells   []results.Cell
}

// SuiteNames are the built-in suites.
func SuiteNames() []string {
	entries, err := fs.ReadDir(builtin, "suites")
	if err != nil {
		panic(err) // embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// LoadSuite reads the built-in suite of that name, or else the suite file at that path.
func LoadSuite(nameOrPath string, c Catalog) (Suite, error) {
	if data, err := builtin.ReadFile(path.Join("suites", nameOrPath+".yaml")); err == nil {
		return ParseSuite("suite "+nameOrPath, data, c)
	}
	data, err := os.ReadFile(nameOrPath)
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(nameOrPath, `./\`) {
		return Suite{}, fmt.Errorf("no suite %q (built in: %s), and no file of that name", nameOrPath, strings.Join(SuiteNames(), ", "))
	}
	if err != nil {
		return Suite{}, fmt.Errorf("suite file: %w", err)
	}
	return ParseSuite(nameOrPath, data, c)
}

// word is a scalar of a suite file with its line, or of a flag that replaces what the file says.
type word struct {
	text string
	line int
	flag string
}

func (w *word) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return &lineError{line: n.Line, text: "want a single value here"}
	}
	*w = word{text: n.Value, line: n.Line}
	return nil
}

// words is one scalar or a list of them.
type words []word

func (ws *words) UnmarshalYAML(n *yaml.Node) error {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
		if len(items) == 0 {
			return &lineError{line: n.Line, text: "an empty list"}
		}
	}
	for _, item := range items {
		var w word
		if err := w.UnmarshalYAML(item); err != nil {
			return err
		}
		*ws = append(*ws, w)
	}
	return nil
}

// lineError is an error at a line of a suite file, or in a flag.
type lineError struct {
	line int
	text string
	flag string
}

func (e *lineError) Error() string { return e.text }

func (w word) errorf(format string, args ...any) error {
	return &lineError{w.line, fmt.Sprintf(format, args...), w.flag}
}

// suiteFile is the form of a suite file. The keys of the policy are those of Settings.
type suiteFile struct {
	Name         word       `yaml:"name"`
	Summary      word       `yaml:"summary"`
	Pin          word       `yaml:"pin"`
	Samples      word       `yaml:"samples"`
	Precision    word       `yaml:"precision"`
	MaxTime      word       `yaml:"max-time"`
	Order        word       `yaml:"order"`
	Duration     word       `yaml:"duration"`
	MaxDuration  word       `yaml:"max-duration"`
	Count        word       `yaml:"count"`
	Warmup       word       `yaml:"warmup"`
	Trim         word       `yaml:"trim"`
	MinCore      word       `yaml:"min-core"`
	CoreRatio    word       `yaml:"core-ratio"`
	MinDelivered word       `yaml:"min-delivered"`
	MaxRamp      word       `yaml:"max-ramp"`
	Reruns       word       `yaml:"reruns"`
	Interference word       `yaml:"max-interference"`
	Budget       word       `yaml:"interference-budget"`
	Calibrate    word       `yaml:"calibrate"`
	RT           word       `yaml:"rt"`
	Mlock        word       `yaml:"mlock"`
	Ceiling      word       `yaml:"ceiling"`
	CeilingStep  word       `yaml:"ceiling-step"`
	Settle       word       `yaml:"ceiling-settle"`
	Cells        []cellSpec `yaml:"cells"`
}

func (f *suiteFile) setting(name string) word {
	return map[string]word{
		"samples": f.Samples, "precision": f.Precision, "max-time": f.MaxTime, "order": f.Order, "duration": f.Duration,
		"max-duration": f.MaxDuration, "count": f.Count, "warmup": f.Warmup, "trim": f.Trim,
		"min-core": f.MinCore, "core-ratio": f.CoreRatio, "min-delivered": f.MinDelivered, "max-ramp": f.MaxRamp, "reruns": f.Reruns,
		"max-interference": f.Interference, "interference-budget": f.Budget, "calibrate": f.Calibrate, "rt": f.RT, "mlock": f.Mlock,
		"ceiling": f.Ceiling, "ceiling-step": f.CeilingStep, "ceiling-settle": f.Settle,
	}[name]
}

// ParseSuite reads a suite; name stands before the line in errors.
func ParseSuite(name string, data []byte, c Catalog) (Suite, error) {
	var f suiteFile
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			return Suite{}, fmt.Errorf("%s: the file is empty: want name and cells", name)
		}
		return Suite{}, placed(name, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Suite{}, fmt.Errorf("%s: more than one document: want one suite, without ---", name)
	}
	s := Suite{Name: f.Name.text, Summary: f.Summary.text, Policy: results.DefaultPolicy(), Pin: f.Pin.text, PinAt: fmt.Sprintf("%s:%d", name, f.Pin.line)}
	if s.Name == "" {
		return Suite{}, fmt.Errorf("%s: the key name is missing", name)
	}
	for _, setting := range Settings {
		if w := f.setting(setting.Name); w.line > 0 {
			if err := setting.Set(&s.Policy, w.text); err != nil {
				return Suite{}, fmt.Errorf("%s:%d: %s: %w", name, w.line, setting.Name, err)
			}
		}
	}
	if len(f.Cells) == 0 {
		return Suite{}, fmt.Errorf("%s: the key cells is missing or empty", name)
	}
	for _, spec := range f.Cells {
		cells, err := spec.expand(c)
		if err != nil {
			return Suite{}, placed(name, err)
		}
		s.Cells = append(s.Cells, cells...)
	}
	if len(s.Cells) == 0 {
		return Suite{}, fmt.Errorf("%s: no cell is left: none of its transports and scenarios are had by both a client and a server asked for", name)
	}
	seen := map[string]bool{}
	kept := s.Cells[:0]
	for _, cell := range s.Cells {
		switch {
		case !seen[cell.Key()]:
			kept = append(kept, cell)
		case !c.Override.any():
			return Suite{}, fmt.Errorf("%s: the cell %s stands there twice", name, cell.Key())
		}
		seen[cell.Key()] = true
	}
	s.Cells = kept
	return s, nil
}

var (
	unknownField = regexp.MustCompile(`^line (\d+): field (\S+) not found in type`)
	yamlLine     = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)`)
)

// placed puts before an error where it is: a flag, or a line of the suite of that name.
func placed(name string, err error) error {
	var le *lineError
	if errors.As(err, &le) && le.flag != "" {
		return fmt.Errorf("--%s: %s", le.flag, strings.TrimPrefix(le.text, le.flag+": "))
	}
	return fmt.Errorf("%s:%w", name, yamlError(err))
}

// yamlError is "LINE: what" of the first thing that is wrong.
func yamlError(err error) error {
	var le *lineError
	if errors.As(err, &le) {
		return fmt.Errorf("%d: %s", le.line, le.text)
	}
	text := err.Error()
	var te *yaml.TypeError
	if errors.As(err, &te) && len(te.Errors) > 0 {
		text = te.Errors[0]
	}
	if m := unknownField.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s: unknown key %q", m[1], m[2])
	}
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s: %s", m[1], m[2])
	}
	return fmt.Errorf(" %s", strings.ReplaceAll(text, "\n", " "))
}
