//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/chromedp/chromedp"
)

// picture writes what the page shows to a file of the temporary directory, with -update.
func (b *browser) picture(name string) {
	b.Helper()
	if !*update {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(os.TempDir(), name+".png"), picture, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// quoted is a string of JavaScript.
func quoted(s string) string { return strconv.Quote(s) }
