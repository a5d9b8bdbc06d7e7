package results

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestNum(t *testing.T) {
	for _, c := range []struct {
		n    Num
		want string
	}{
		{Num{}, ""},
		{N(0), "0"},
		{N(math.Copysign(0, -1)), "0"},
		{N(-0.0001), "0"},
		{N(1.35), "1.35"},
		{N(1.0005), "1.001"},
		{N(-2.5), "-2.5"},
		{N(1e15), "1000000000000000"},
		{N(1e300), "1" + zeros(300)},
		{N(math.NaN()), ""},
		{N(math.Inf(1)), ""},
		{N(math.Inf(-1)), ""},
		{Us(1234567, true), "1234.567"},
		{Us(1, true), "0.001"},
		{Us(5, false), ""},
	} {
		if got := c.n.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if N(2).Or(3) != 2 || (Num{}).Or(3) != 3 || !N(0).OK() || (Num{}).OK() {
		t.Error("Or or OK is wrong")
	}
	if v, ok := N(7).Value(); v != 7 || !ok {
		t.Error(v, ok)
	}
}

func zeros(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0'
	}
	return string(b)
}

// A number is the same after a trip through text, and rounding it again changes nothing.
func TestNumRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for range 100_000 {
		n := N((r.Float64() - 0.5) * math.Pow(10, float64(r.IntN(30)-4)))
		text, _ := n.MarshalText()
		var back Num
		if err := back.UnmarshalText(text); err != nil || back != n {
			t.Fatalf("%v became %v (%v) by way of %q", n, back, err, text)
		}
		if v, _ := n.Value(); N(v) != n {
			t.Fatalf("%v rounded again is %v", n, N(v))
		}
	}
}

// Counters are whole numbers: they come out as they went in up to 2⁵³.
func TestNumKeepsIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	for range 100_000 {
		v := r.Int64N(1 << (1 + r.IntN(53)))
		if got := N(float64(v)).Or(-1); got != float64(v) {
			t.Fatalf("%d became %v", v, got)
		}
	}
}

func TestBadNum(t *testing.T) {
	for _, text := range []string{"NaN", "nan", "Inf", "-inf", "+Inf", "infinity", "1e999", "0x1p4", "1_0", "1,5", " 1", "1 ", "-", ".", "e5", "--1", "1e", "x"} {
		n := N(5)
		if err := n.UnmarshalText([]byte(text)); err == nil || n != N(5) {
			t.Errorf("%q is read as %v (%v)", text, n, err)
		}
	}
}

// What is read on the short way is what strconv and N make of it.
func TestPlainNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	short := 0
	for range 200_000 {
		text := strconv.FormatFloat(r.Float64()*math.Pow(10, float64(r.IntN(18)-3)), 'f', r.IntN(6), 64)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := parsePlain([]byte(text)); ok {
			short++
			if n != N(v) {
				t.Fatalf("%s is read as %v, want %v", text, n, N(v))
			}
		}
	}
	if short < 50_000 {
		t.Errorf("%d of 200000 were read on the short way", short)
	}
	for _, text := range []string{"0", "00", "000.000", "5.", ".5", "1.2.3", "9.9999", "1234567890123456", "-1", "+1", "1e3", ""} {
		n, ok := parsePlain([]byte(text))
		v, err := strconv.ParseFloat(text, 64)
		if ok && (err != nil || n != N(v)) {
			t.Errorf("%q is read as %v, want %v (%v)", text, n, v, err)
		}
	}
}
