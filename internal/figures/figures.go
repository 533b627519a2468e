package figures

import (
	"bufio"
	"fmt"
	"io"
	"math"
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

// Confidence returns the mean of the values, and half the width of the interval in which their true mean lies with a confidence of 95 %, as
// Student's distribution tells it. There must be two values or more.
func Confidence(values []float64) (mean, half float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, student(len(values)-1) * math.Sqrt(squares/(n-1)/n)
}

// student is the 97.5th percentile of Student's distribution.
func student(freedom int) float64 {
	small := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}
	if freedom <= len(small) {
		return small[freedom-1]
	}
	f := float64(freedom)
	return 1.95996 + 2.3722/f + 2.8225/(f*f) + 2.5558/(f*f*f) // of the expansion about the normal distribution
}
