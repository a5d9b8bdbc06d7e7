package stability

import (
	"reflect"
	"testing"

	"msgbench/results"
)

// Samples from before and after a boot are told apart, in the notes of a row that joins them and between the calibrations.
func TestBoots(t *testing.T) {
	booted := func(from int, boots string, list []results.Sample) []results.Sample {
		for i := range list[from:] {
			list[from+i].Boots = boots
		}
		return list
	}
	run := runOf(atMax)
	for _, c := range []struct {
		name    string
		samples []results.Sample
		want    []Note
	}{
		{"one boot", tens(atMax, 500, 510, 520, 530, 540), nil},
		{"another boot than the run began with, for all", booted(0, "b", tens(atMax, 500, 510, 520, 530, 540)), nil},
		{"in the third round", booted(2, "b", tens(atMax, 500, 510, 520, 530, 540)), []Note{{NoteBoots, atMax.Key(),
			"joins samples from before and after a boot of the machine: 500/s, 510/s in rounds 0 to 1; then 520/s, 530/s, 540/s in rounds 2 to 4",
			[]Place{{1, 0, 0}, {2, 1, 0}, {3, 2, 0}, {4, 3, 0}, {5, 4, 0}}}}},
		{"twice", booted(4, "c", booted(1, "b", tens(atMax, 500, 510, 520, 530, 540))), []Note{{NoteBoots, atMax.Key(),
			"joins samples from before and after a boot of the machine: 500/s in round 0; then 510/s, 520/s, 530/s in rounds 1 to 3; then 540/s in round 4",
			[]Place{{1, 0, 0}, {2, 1, 0}, {3, 2, 0}, {4, 3, 0}, {5, 4, 0}}}}},
	} {
		var got []Note
		for _, n := range notesOf(t, run, c.samples) {
			if n.Kind == NoteBoots {
				got = append(got, n)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v\nwant %+v", c.name, got, c.want)
		}
	}
	// An attempt that does not decide is none of the row's.
	both := append(booted(0, "", tens(atMax, 100, 200, 500, 510, 520)), booted(0, "b", again(1, tens(atMax, 500, 510, 520, 530, 540)))...)
	for _, n := range notesOf(t, run, both) {
		if n.Kind == NoteBoots {
			t.Errorf("a rerun after a boot: %+v", n)
		}
	}
	samples := []results.Sample{calibration("", 0, 100, 5000), calibration("b", 0, 100, 5000), calibration("", 1, 100, 5000),
		calibration("", 1, 0, 0), calibration("", 2, 90, 5000)}
	samples[3].Boots, samples[4].Boots = "b", "b"
	var got Calibrations
	for _, s := range samples {
		got.Add(s)
	}
	if !reflect.DeepEqual(got[0].Booted, []int{1}) || got[1].Booted != nil {
		t.Errorf("calibrations: %+v", got)
	}
}
