package dump

import (
	"fmt"
	"strconv"
	"strings"
)

// A Similarity tells when two stacks count as one.
type Similarity uint8

// The similarities, from the strictest on.
const (
	SameLines     Similarity = iota // the same functions at the same lines
	SameFunctions                   // the same functions, whatever the lines
	SameShape                       // the same functions but for closures and type arguments

	similarityCount
)

var similarityNames = [similarityCount]string{"lines", "functions", "shape"}

// String returns the similarity's name.
func (s Similarity) String() string {
	if s < similarityCount {
		return similarityNames[s]
	}
	return "unknown"
}

// ParseSimilarity returns the similarity of a name: lines, functions or shape.
func ParseSimilarity(name string) (Similarity, error) {
	for s := range similarityCount {
		if similarityNames[s] == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("no similarity %q: want %s", name, strings.Join(similarityNames[:], ", "))
}

// fingerprint is the same for stacks that are similar.
func (s Similarity) fingerprint(stack *Stack) string {
	h := newHash
	for _, f := range stack.Frames {
		switch s {
		case SameLines:
			h = h.word(f.Func).word(f.File).word(strconv.Itoa(f.Line))
		case SameFunctions:
			h = h.word(f.Func)
		default:
			h = h.word(shapeOf(f.Func))
		}
	}
	if stack.Truncated {
		h = h.word("…")
	}
	return h.String()
}

// shapeOf returns the function around closures, without type arguments: "main.work[...].func1.2" is "main.work".
func shapeOf(function string) string {
	if i := strings.IndexByte(function, '['); i >= 0 {
		if j := strings.LastIndexByte(function, ']'); j > i {
			function = function[:i] + function[j+1:]
		}
	}
	for {
		i := strings.LastIndexByte(function, '.')
		if i < 0 || !isClosure(function[i+1:]) {
			return strings.TrimSuffix(function, "-fm")
		}
		function = function[:i]
	}
}

// isClosure reports whether the compiler has made that part of a name: func1, 2, gowrap3, deferwrap1, func1-range2.
func isClosure(part string) bool {
	part, _, _ = strings.Cut(part, "-range")
	for _, prefix := range []string{"func", "gowrap", "deferwrap", ""} {
		if n, ok := strings.CutPrefix(part, prefix); ok && n != "" && strings.Trim(n, "0123456789") == "" {
			return true
		}
	}
	return false
}
