//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
)

// picture writes what the page shows to a file of the temporary directory, with -update.
func (b *browser) picture(name string) {
	b.Helper()
	if !*update {
		return
	}
	if err := os.WriteFile(filepath.Join(os.TempDir(), name+".png"), b.shot(), 0o644); err != nil {
		b.Fatal(err)
	}
}

// quoted is a string of JavaScript.
func quoted(s string) string { return strconv.Quote(s) }
