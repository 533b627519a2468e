package main

import (
	"slices"
	"strings"
)

// nearest returns the word that is most like s, if one is like it at all.
func nearest(s string, words []string) string {
	best, bestDistance := "", 0
	for _, w := range words {
		d := distance(s, w)
		if len(s) >= 2 && strings.HasPrefix(w, s) || sameLetters(s, w) {
			d = 1
		}
		if d <= max(1, len(w)/3) && (best == "" || d < bestDistance) {
			best, bestDistance = w, d
		}
	}
	return best
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// distance counts the insertions, deletions and replacements that turn a into b.
func distance(a, b string) int {
	if len(a) > 100 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := above
			if a[i] != b[j] {
				cost = 1 + min(above, row[j], row[j+1])
			}
			above, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
