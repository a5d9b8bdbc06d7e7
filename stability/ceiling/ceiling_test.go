package ceiling

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"msgbench/results"
)

// link is a simulated transport that can move capacity messages per second, and a sender that offers a rate for 5 s.
type link struct {
	capacity float64
	queue    float64 // messages that fit into its buffers; then the sender blocks
	noise    float64 // share by which the rate of each 100 ms scatters
	luck     float64 // chance that a try goes wrong, or right, whatever the rate
	random   *rand.Rand
}

// offer is what a try at that rate measures.
func (l *link) offer(rate int) *results.Measurement {
	const steps = 50
	m := &results.Measurement{Series: &results.Series{StepNs: 100e6}, WindowNs: steps * 100e6}
	var queued, sentPart, receivedPart float64
	for range steps {
		in := float64(rate) / 10
		out := l.capacity / 10 * (1 + l.noise*l.random.NormFloat64())
		if room := l.queue - queued + out; in > room {
			in = max(room, 0)
		}
		out = min(out, queued+in)
		queued += in - out
		sentPart, receivedPart = sentPart+in, receivedPart+out
		sent, received := int64(sentPart), int64(receivedPart)
		m.Series.Sent, m.Series.Received = append(m.Series.Sent, sent), append(m.Series.Received, received)
		sentPart, receivedPart = sentPart-float64(sent), receivedPart-float64(received)
		m.Sent += sent
	}
	m.Received = m.Sent // drained, which takes as long as it takes
	m.Messages = m.Received
	m.WindowNs += int64(queued / l.capacity * 1e9)
	return m
}

// try is a judged try at that rate.
func (l *link) try(rate int) results.Step {
	step, _ := Judge(rate, l.offer(rate), 0.99)
	if l.random.Float64() < l.luck {
		step.Holds = !step.Holds
	}
	return step
}

// search runs a whole search.
func search(t *testing.T, start, most int, try func(rate int) results.Step) (steps []results.Step, held, failed int) {
	t.Helper()
	s := New(start, most)
	for {
		rate, ok := s.Next()
		if !ok {
			break
		}
		if len(steps) > 200 {
			t.Fatal("the search does not end")
		}
		x := try(rate)
		steps = append(steps, x)
		s.Report(x.Holds)
	}
	held, failed = s.Result()
	if h, f := Result(steps); h != held || f != failed {
		t.Errorf("the steps alone tell %d and %d, the search %d and %d", h, f, held, failed)
	}
	return steps, held, failed
}

func newLink(capacity, queue, noise, luck float64, seed uint64) *link {
	return &link{capacity: capacity, queue: queue, noise: noise, luck: luck, random: rand.New(rand.NewPCG(seed, 1))}
}

// A link of known capacity: what is published stands at both sides of it, 3 % apart.
func TestKnownCeiling(t *testing.T) {
	for _, c := range []struct {
		name     string
		link     func(seed uint64) *link
		from, to float64 // of the capacity
	}{
		{"exact", func(s uint64) *link { return newLink(123_456, 1e9, 0, 0, s) }, 0.97, 1.001},
		{"exact, small buffers", func(s uint64) *link { return newLink(123_456, 100, 0, 0, s) }, 0.97, 1.02},
		{"slow", func(s uint64) *link { return newLink(37, 1e9, 0, 0, s) }, 0.94, 1.02},
		{"fast", func(s uint64) *link { return newLink(9_876_543, 1e9, 0, 0, s) }, 0.97, 1.001},
		{"noisy", func(s uint64) *link { return newLink(400_000, 1e9, 0.05, 0, s) }, 0.9, 1.03},
		{"very noisy, small buffers", func(s uint64) *link { return newLink(400_000, 1000, 0.2, 0, s) }, 0.6, 1.03},
		{"a tenth of the tries by luck", func(s uint64) *link { return newLink(400_000, 1e9, 0, 0.1, s) }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(20) {
				l := c.link(seed)
				steps, held, failed := search(t, 1000, 100_000_000, l.try)
				if held == 0 || failed <= held || failed-held > 1 && float64(failed-held) > Precision*float64(held)+1 {
					t.Errorf("seed %d: held %d, failed %d", seed, held, failed)
				}
				if c.to > 0 && (float64(held) < c.from*l.capacity || float64(held) > c.to*l.capacity) {
					t.Errorf("seed %d: held %d of a capacity of %.0f after %d tries", seed, held, l.capacity, len(steps))
				}
			}
		})
	}
}

// With luck in every tenth try the majority of three still finds it most of the time.
func TestLuckIsOutvoted(t *testing.T) {
	near := 0
	const searches = 200
	for seed := range uint64(searches) {
		l := newLink(400_000, 1e9, 0, 0.1, seed)
		if _, held, _ := search(t, 50_000, 100_000_000, l.try); math.Abs(float64(held)/l.capacity-1) < 0.04 {
			near++
		}
	}
	if near < searches*3/4 {
		t.Errorf("near the capacity in %d of %d searches", near, searches)
	}
}

func TestOnlyTheMajorityCounts(t *testing.T) {
	s := New(1000, 1e6)
	for i, holds := range []bool{false, true, true} {
		if rate, _ := s.Next(); rate != 1000 || s.Try() != i {
			t.Fatalf("try %d at %d", s.Try(), rate)
		}
		s.Report(holds)
	}
	if rate, _ := s.Next(); rate != 2000 {
		t.Fatalf("2 of 3 tries held, but the next rate is %d", rate)
	}
	s.Report(false)
	s.Report(false)
	if rate, _ := s.Next(); rate != 1500 {
		t.Fatalf("2 tries did not hold, but the next rate is %d", rate)
	}
}

func TestNoCeiling(t *testing.T) {
	_, held, failed := search(t, 1000, 64_500, func(rate int) results.Step { return results.Step{Rate: rate, Holds: true} })
	if held != 64_500 || failed != 0 {
		t.Errorf("held %d, failed %d, want 64500 and none", held, failed)
	}
}

func TestFirstStepFails(t *testing.T) {
	l := newLink(130, 1e9, 0, 0, 1)
	if _, held, failed := search(t, 100_000, 1e6, l.try); held < 126 || held > 131 || failed <= held {
		t.Errorf("held %d, failed %d of a capacity of 130", held, failed)
	}
	steps, held, failed := search(t, 1000, 1e6, func(rate int) results.Step { return results.Step{Rate: rate} })
	if held != 0 || failed != 1 {
		t.Errorf("nothing holds, but held %d, failed %d", held, failed)
	}
	if len(steps) > 30 {
		t.Errorf("%d tries to find that nothing holds", len(steps))
	}
}

func TestSearchGoesOnFromSteps(t *testing.T) {
	l := newLink(5000, 1e9, 0, 0, 1)
	steps, held, failed := search(t, 100, 1e6, l.try)
	s := New(100, 1e6)
	for _, x := range steps[:len(steps)/2] {
		s.Report(x.Holds)
	}
	for {
		rate, ok := s.Next()
		if !ok {
			break
		}
		s.Report(l.try(rate).Holds)
	}
	if h, f := s.Result(); h != held || f != failed {
		t.Errorf("%d and %d, without the break %d and %d", h, f, held, failed)
	}
}

func TestResultOfPart(t *testing.T) {
	if h, f := Result(nil); h != 0 || f != 0 {
		t.Error(h, f)
	}
	one := []results.Step{{Rate: 10, Holds: true}, {Rate: 20}, {Rate: 20, Holds: true}, {Rate: 10, Holds: true}}
	if h, f := Result(one); h != 10 || f != 0 {
		t.Errorf("held %d, failed %d; 20 is not decided yet", h, f)
	}
}

func TestJudge(t *testing.T) {
	calm := newLink(1e6, 1e9, 0, 0, 1)
	for _, c := range []struct {
		name  string
		spoil func(*results.Measurement)
		want  string
	}{
		{"good", func(*results.Measurement) {}, ""},
		{"too few", func(m *results.Measurement) { m.WindowNs = m.WindowNs * 103 / 100 }, "delivered 0.9709 of the offer"},
		{"lost", func(m *results.Measurement) { m.Lost = 3 }, "lost 3 of 500000 messages"},
		{"missing", func(m *results.Measurement) { m.Received -= 2 }, "lost 2 of 500000 messages"},
		{"grows", func(m *results.Measurement) {
			for i := range m.Series.Received {
				m.Series.Received[i] -= 50 + int64(i%3)
			}
		}, "the backlog changes by 5"},
	} {
		m := calm.offer(100_000)
		c.spoil(m)
		step, reason := Judge(100_000, m, 0.99)
		if step.Holds != (c.want == "") || !strings.HasPrefix(reason, c.want) || step.Rate != 100_000 {
			t.Errorf("%s: %+v, %q", c.name, step, reason)
		}
	}
}

// The interval holds the true slope in 95 of 100 cases, also where neighbours resemble each other.
func TestFitCoverage(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, memory := range []float64{0, 0.5, 0.8} {
		in := 0
		const n = 3000
		for range n {
			v := make([]float64, 50)
			noise := 0.0
			for i := range v {
				noise = memory*noise + random.NormFloat64()
				v[i] = 7*float64(i)*0.1 + noise
			}
			if l := Fit(v, 0.1, 0); l.Lo <= 7 && 7 <= l.Hi {
				in++
			}
		}
		share := float64(in) / n
		t.Logf("memory %g: %.3f", memory, share)
		if least := 0.94 - memory*memory*0.12; share < least {
			t.Errorf("memory %g: the interval holds the slope in %.3f of the cases", memory, share)
		}
	}
}

func TestFit(t *testing.T) {
	if l := Fit([]float64{1, 3, 5, 7}, 2, 0); l.Slope != 1 || l.Lo != 1 || l.Hi != 1 || l.Flat() {
		t.Errorf("%+v", l)
	}
	if l := Fit(make([]float64, 50), 0.1, 0); !l.Flat() {
		t.Errorf("%+v", l)
	}
	for _, v := range [][]float64{nil, {1}, {1, 2}} {
		if l := Fit(v, 1, 0); !l.Flat() || !math.IsInf(l.Hi, 1) {
			t.Errorf("%v: %+v", v, l)
		}
	}
	if l := Fit([]float64{0, 0, 0, 1, 1, 1}, 0.1, 100); !l.Flat() {
		t.Errorf("one message more is taken for growth: %+v", l)
	}
	for freedom, want := range map[float64]float64{1: 12.706, 2: 4.303, 3: 3.182, 5: 2.571, 10: 2.228, 48: 2.011, 1e9: 1.96} {
		if got := student(freedom); math.Abs(got/want-1) > 0.012 {
			t.Errorf("t of %g: %g, want %g", freedom, got, want)
		}
	}
}
