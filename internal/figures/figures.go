package figures

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Metric is one figure of a benchmark's line. Benchmark has neither the word Benchmark nor the number of processors.
type Metric struct{ Benchmark, Unit string }

// Figures are the values of each metric, in the order they were read.
type Figures map[Metric][]float64

var processors = regexp.MustCompile(`-\d+$`)

// Read adds the figures of a benchmark's output, and returns the other lines.
func (f Figures) Read(r io.Reader) (rest string, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		name, ok := "", false
		if len(words) >= 4 && len(words)%2 == 0 {
			name, ok = strings.CutPrefix(processors.ReplaceAllString(words[0], ""), "Benchmark")
		}
		if !ok {
			rest += lines.Text() + "\n"
			continue
		}
		for i := 2; i < len(words); i += 2 {
			value, err := strconv.ParseFloat(words[i], 64)
			if err != nil {
				return rest, fmt.Errorf("%q: %w", lines.Text(), err)
			}
			m := Metric{name, words[i+1]}
			f[m] = append(f[m], value)
		}
	}
	return rest, lines.Err()
}

// Median returns the middle of the values, which it leaves as they are. There must be one.
func Median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
