package figures

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestFiguresAreReadAndTheRestIsReturned(t *testing.T) {
	f := Figures{}
	rest, err := f.Read(strings.NewReader(`goos: linux
BenchmarkStartJoin/impl=vthread-2    	 100	 200.0 ns/op	 0 B/op
BenchmarkStartJoin/impl=vthread-2    	 100	 500.0 ns/op	 0 B/op
BenchmarkStartJoin/impl=jdk 95107 2014.3344 ns/op
BenchmarkSnapshot/threads=1000000-2  	   5	 61.5 ms/op	 12000 output-B
BenchmarkBroken
PASS
`))
	if err != nil {
		t.Fatal(err)
	}
	if want := "goos: linux\nBenchmarkBroken\nPASS\n"; rest != want {
		t.Errorf("other lines: got %q, want %q", rest, want)
	}
	for m, want := range map[Metric][]float64{
		{"StartJoin/impl=vthread", "ns/op"}:      {200, 500},
		{"StartJoin/impl=vthread", "B/op"}:       {0, 0},
		{"StartJoin/impl=jdk", "ns/op"}:          {2014.3344},
		{"Snapshot/threads=1000000", "ms/op"}:    {61.5},
		{"Snapshot/threads=1000000", "output-B"}: {12000},
	} {
		if !slices.Equal(f[m], want) {
			t.Errorf("%v: got %v, want %v", m, f[m], want)
		}
	}
	if len(f) != 5 {
		t.Errorf("got %d metrics, want 5: %v", len(f), f)
	}
}

func TestAFigureThatIsNoNumberIsAnError(t *testing.T) {
	if _, err := (Figures{}).Read(strings.NewReader("BenchmarkX-2 1 many ns/op\n")); err == nil {
		t.Error("got no error, want one")
	}
}

func TestTheMedianIsTheMiddle(t *testing.T) {
	values := []float64{5, 1, 3}
	if got := Median(values); got != 3 || values[0] != 5 {
		t.Errorf("got %v and %v, want 3 and the values as they were", got, values)
	}
	if got := Median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("got %v, want 2.5", got)
	}
}

func TestConfidenceIsThatOfStudent(t *testing.T) {
	for _, c := range []struct {
		values     []float64
		mean, half float64
	}{
		{[]float64{1, 3}, 2, 12.706},
		{[]float64{1, 2, 3, 4, 5}, 3, 2.776 * math.Sqrt(2.5/5)},
		{slices.Repeat([]float64{1, 3}, 10), 2, 2.093 * math.Sqrt(20.0/19/20)},
		{slices.Repeat([]float64{1, 3}, 500), 2, 1.962 * math.Sqrt(1000.0/999/1000)},
		{[]float64{7, 7, 7}, 7, 0},
	} {
		mean, half := Confidence(c.values)
		if math.Abs(mean-c.mean) > 1e-9 || math.Abs(half-c.half) > 1e-3*c.half+1e-12 {
			t.Errorf("%d values: got %v ± %v, want %v ± %v", len(c.values), mean, half, c.mean, c.half)
		}
	}
}
