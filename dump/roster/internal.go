package roster

import "strings"

// internals begin the names of functions that a user did not write and does not look for, as flight files mark them.
var internals = []string{"runtime.", "internal/", "iter.", "github.com/vtscope/vtscope/runtime/"}

// Internal reports whether a function of Go is of Go's runtime or of ours. Tests of ours are not.
func Internal(function, file string) bool {
	for _, p := range internals {
		if strings.HasPrefix(function, p) {
			return !strings.HasSuffix(file, "_test.go")
		}
	}
	return false
}
