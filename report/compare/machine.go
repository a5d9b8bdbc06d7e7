package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"

	"msgbench/report/internal/plain"
	"msgbench/results"
)

// asCSV has a line a cell, those of one run only included, in the order of the runs. Of two sides a line has the keys of
// both.
func asCSV(r Result) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if r.Sides != nil {
		w.Write([]string{"cell_a", "cell_b", "outcome", "metric", "a", "b", "ratio", "ratio_lo", "ratio_hi", "level", "p", "p_holm", "pairs", "reason"})
		for _, c := range r.Cells {
			rec := []string{plain.Field(c.Key), plain.Field(c.KeyB), c.Outcome, c.Metric, c.Old.String(), c.New.String(), "", "", "", "", "",
				"", "", plain.Field(c.Reason)}
			if c.Tested {
				for i, v := range []float64{c.Ratio, c.Lo, c.Hi, c.Level, c.P, c.PHolm, float64(c.NOld)} {
					rec[6+i] = strconv.FormatFloat(v, 'g', 6, 64)
				}
			}
			w.Write(rec)
		}
		w.Flush()
		return b.Bytes(), w.Error()
	}
	w.Write([]string{"cell", "outcome", "metric", "old", "new", "ratio", "ratio_lo", "ratio_hi", "level", "p", "p_holm", "samples_old", "samples_new", "reason"})
	for _, c := range r.Cells {
		rec := []string{plain.Field(c.Key), c.Outcome, c.Metric, c.Old.String(), c.New.String(), "", "", "", "", "", "", "", "", plain.Field(c.Reason)}
		if c.Tested {
			for i, v := range []float64{c.Ratio, c.Lo, c.Hi, c.Level, c.P, c.PHolm, float64(c.NOld), float64(c.NNew)} {
				rec[5+i] = strconv.FormatFloat(v, 'g', 6, 64)
			}
		}
		w.Write(rec)
	}
	for _, only := range []struct {
		outcome string
		keys    []string
	}{{"only-old", r.OnlyOld}, {"only-new", r.OnlyNew}} {
		for _, k := range only.keys {
			w.Write(append([]string{plain.Field(k), only.outcome}, make([]string, 12)...))
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// The JSON of a result. A number that is not there is null.
type jsonResult struct {
	Run          string           `json:"run,omitempty"`   // of two sides,
	Sides        *jsonSides       `json:"sides,omitempty"` // where old is A and new is B
	Old          string           `json:"old"`
	New          string           `json:"new"`
	Margin       float64          `json:"margin"`
	Tests        int              `json:"tests"`
	Outcomes     map[string]int   `json:"outcomes"`
	Differences  []jsonDifference `json:"differences"`
	Calibrations []jsonCalibrated `json:"calibrations"`
	Uncalibrated string           `json:"uncalibrated,omitempty"` // why there are none
	Cells        []jsonCell       `json:"cells"`
	OnlyOld      []string         `json:"only_old"`
	OnlyNew      []string         `json:"only_new"`
	Means        []jsonMean       `json:"geometric_means"`
}

type jsonSides struct {
	Setting  string            `json:"setting"`
	A        string            `json:"a"`
	B        string            `json:"b"`
	Baseline *results.Baseline `json:"baseline,omitempty"`
}

type jsonDifference struct {
	Fact string `json:"fact"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

type jsonCalibrated struct {
	Name   string   `json:"name"`
	Old    float64  `json:"old_ns"`
	New    float64  `json:"new_ns"`
	Ratio  *float64 `json:"ratio"`
	Lo     *float64 `json:"ratio_lo"`
	Hi     *float64 `json:"ratio_hi"`
	Level  *float64 `json:"level"`
	Rounds [2]int   `json:"rounds"`
	Moved  bool     `json:"moved"`
}

type jsonMean struct {
	Metric string  `json:"metric"`
	Cells  int     `json:"cells"`
	Ratio  float64 `json:"ratio"`
}

type jsonCell struct {
	Cell         string   `json:"cell"`
	CellB        string   `json:"cell_b,omitempty"`
	Outcome      string   `json:"outcome"`
	Reason       string   `json:"reason,omitempty"`
	Metric       string   `json:"metric"`
	HigherBetter bool     `json:"higher_is_better"`
	Old          *float64 `json:"old"`
	New          *float64 `json:"new"`
	Ratio        *float64 `json:"ratio"`
	Lo           *float64 `json:"ratio_lo"`
	Hi           *float64 `json:"ratio_hi"`
	Level        *float64 `json:"level"`
	P            *float64 `json:"p"`
	PHolm        *float64 `json:"p_holm"`
	SamplesOld   int      `json:"samples_old"`
	SamplesNew   int      `json:"samples_new"`
}

func asJSON(r Result) ([]byte, error) {
	j := jsonResult{
		Old: r.Old, New: r.New, Margin: r.Margin, Tests: r.Tests, Outcomes: map[string]int{},
		Differences: []jsonDifference{}, Cells: []jsonCell{}, Means: []jsonMean{},
		OnlyOld: append([]string{}, r.OnlyOld...), OnlyNew: append([]string{}, r.OnlyNew...),
	}
	if r.Sides != nil {
		j.Run, j.Sides = r.Path, &jsonSides{r.Sides.Setting, r.Sides.A, r.Sides.B, r.Sides.Baseline}
	}
	for _, o := range []string{Worse, Better, Unsure, Same} {
		j.Outcomes[o] = r.Count(o)
	}
	for _, d := range r.Differences {
		j.Differences = append(j.Differences, jsonDifference(d))
	}
	j.Calibrations, j.Uncalibrated = []jsonCalibrated{}, r.Uncalibrated
	for _, c := range r.Calibrations {
		j.Calibrations = append(j.Calibrations, jsonCalibrated{Name: c.Name, Old: c.Old, New: c.New, Ratio: pointer(c.Ratio, c.Tested),
			Lo: pointer(c.Lo, c.Tested), Hi: pointer(c.Hi, c.Tested), Level: pointer(c.Level, c.Tested), Rounds: [2]int{c.NOld, c.NNew}, Moved: c.Moved})
	}
	for _, m := range r.Means {
		j.Means = append(j.Means, jsonMean(m))
	}
	for _, c := range r.Cells {
		jc := jsonCell{Cell: c.Key, CellB: c.KeyB, Outcome: c.Outcome, Reason: c.Reason, Metric: c.Metric, HigherBetter: c.Higher,
			Old: pointer(c.Old.Value()), New: pointer(c.New.Value()), SamplesOld: c.NOld, SamplesNew: c.NNew}
		for _, f := range []struct {
			to *(*float64)
			v  float64
		}{{&jc.Ratio, c.Ratio}, {&jc.Lo, c.Lo}, {&jc.Hi, c.Hi}, {&jc.Level, c.Level}, {&jc.P, c.P}, {&jc.PHolm, c.PHolm}} {
			*f.to = pointer(f.v, c.Tested)
		}
		j.Cells = append(j.Cells, jc)
	}
	data, err := json.MarshalIndent(j, "", "  ")
	return append(data, '\n'), err
}

func pointer(v float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &v
}
