package floors

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"msgbench/report/internal/plain"
)

type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitOutcome `xml:"failure,omitempty"`
	Skipped *junitOutcome `xml:"skipped,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitOutcome struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// asJUnit has one testcase a floor: a failure where it is broken, skipped where nothing can be said.
func asJUnit(r Report) ([]byte, error) {
	s := junitSuite{Name: "msgbench floors", Tests: len(r.Floors)}
	for _, f := range r.Floors {
		c := junitCase{Class: "msgbench.floors", Name: f.Name}
		var lines []string
		for _, cell := range f.Cells {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", cell.Outcome, cell.where(), cell.text(f.Floor)))
		}
		text := strings.Join(lines, "\n")
		switch f.Outcome {
		case Pass:
			c.Output = text
		case Fail:
			s.Failures++
			c.Failure = &junitOutcome{Message: f.message(), Type: "floor", Text: text}
		default:
			s.Skipped++
			c.Skipped = &junitOutcome{Message: f.message(), Text: text}
		}
		s.Cases = append(s.Cases, c)
	}
	data, err := xml.MarshalIndent(junitSuites{Suite: s}, "", "  ")
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte(xml.Header), data, []byte("\n")), nil
}

// message is the outcome of a floor in a line: of the cells that have it, the first, and how many more.
func (r Result) message() string {
	var first *CellResult
	more := 0
	for i := range r.Cells {
		if r.Cells[i].Outcome != r.Outcome {
			continue
		}
		if first == nil {
			first = &r.Cells[i]
		} else {
			more++
		}
	}
	text := fmt.Sprintf("%s: want %s", r.Outcome, r.Condition())
	if first != nil {
		text += fmt.Sprintf("; %s: %s", first.where(), first.text(r.Floor))
	}
	if more > 0 {
		text += fmt.Sprintf("; and %s", plain.Plural(more, "more cell"))
	}
	return text
}

// mostAnnotations of each kind are shown by GitHub for a step.
const mostAnnotations = 10

// Annotations are workflow commands for GitHub: an error for each broken floor, a warning for what can't be told; the
// worst few.
func Annotations(r Report) string {
	var b strings.Builder
	for _, kind := range []struct {
		command  string
		outcomes []string
	}{{"error", []string{Fail}}, {"warning", []string{Missing, Inconclusive}}} {
		var list []Result
		for _, o := range kind.outcomes {
			for _, f := range r.Floors {
				if f.Outcome == o {
					list = append(list, f)
				}
			}
		}
		slices.SortStableFunc(list, func(a, b Result) int { return -cmp.Compare(a.severity(), b.severity()) })
		for _, f := range list[:min(len(list), mostAnnotations)] {
			fmt.Fprintf(&b, "::%s file=%s,line=%d,title=%s::%s\n", kind.command, property(r.File), f.Line,
				property("floor "+plain.OneLine(f.Name)), message(f.message()))
		}
	}
	return b.String()
}

// The escapes of workflow commands.
var messageEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
var propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")

func message(s string) string  { return messageEscapes.Replace(s) }
func property(s string) string { return propertyEscapes.Replace(s) }

// StepSummary is markdown for the page of a CI job.
func StepSummary(r Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### msgbench floors: %s\n\n| outcome | floor | want | cell | seen |\n|---|---|---|---|---|\n", r.Summary())
	for _, o := range outcomes {
		for _, f := range r.Floors {
			if f.Outcome != o {
				continue
			}
			for _, c := range f.Cells {
				for _, s := range []string{c.Outcome, f.Name, f.Condition(), c.where(), c.text(f.Floor)} {
					b.WriteString("| " + plain.Markdown(s) + " ")
				}
				b.WriteString("|\n")
			}
		}
	}
	b.WriteString("\n")
	return b.String()
}
