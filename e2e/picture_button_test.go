//go:build unix

package e2e

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"github.com/chromedp/chromedp"
)

// Each chart can be saved as PNG, with its title, whether it is drawn on a canvas, of SVG or of boxes.
func TestEachChartCanBeSavedAsPNG(t *testing.T) {
	b := openBrowser(t)
	url, _ := pages(t, "-replay", traffic)
	downloads := b.keeps()
	b.do(chromedp.Navigate(url + "/#scope=root/shop"))
	b.until("live", `document.querySelector("#status")?.textContent === "LIVE" && scope("root/shop/sessions") && groups().length > 0 && document.querySelectorAll("#timeline canvas").length === 3`)
	for _, c := range []struct{ hash, name, within string }{
		{"#scope=root/shop", "threads-by-state-over-time", "#timeline"},
		{"#scope=root/shop", "starts-ends-and-switches-per-second", "#timeline"},
		{"#scope=root/shop", "ready-delay-over-time", "#timeline"},
		{"#scope=root/shop", "how-long-they-wait", "#stack"},
		{"#scope=root/shop&map=threads", "treemap-of-scopes", "#scopes"},
		{"#scope=root/shop&view=flame", "flame-graph", "#flame"},
		{"#scope=root/shop&view=graph", "call-graph", "#graph"},
	} {
		b.show(c.hash)
		button := `[...document.querySelectorAll("` + c.within + ` [data-picture]")].filter(p => p.dataset.picture.replaceAll(/[^a-z0-9]+/gi, "-") === "` + c.name + `")[0]?.querySelector("button.png")`
		b.until("the button of "+c.name, button)
		b.until("it pressed", `(`+button+`.click(), true)`)
		data := b.kept(downloads, c.name+".png")
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		b.keepScreen("saved-"+c.name, data)
		drawn, colours := inked(picture)
		t.Logf("%s: %v, %d bytes, %.1f %% drawn, %d colours", c.name, picture.Bounds().Size(), len(data), 100*drawn, colours)
		if s := picture.Bounds().Size(); s.X < 250 || s.Y < 80 || drawn < 0.02 || colours < 8 {
			t.Errorf("%s is %v with %.1f %% drawn in %d colours: want a picture", c.name, s, 100*drawn, colours)
		}
	}
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%v", bad)
	}
}

// inked is the part of a picture that has not the colour of its corner, and how many colours it has. What is above its chart, its title, does not count.
func inked(picture image.Image) (part float64, colours int) {
	r := picture.Bounds()
	ground := picture.At(r.Min.X, r.Min.Y)
	seen := map[[3]uint32]bool{}
	n, all := 0, 0
	for y := r.Min.Y + r.Dy()/3; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			all++
			c := picture.At(x, y)
			cr, cg, cb, _ := c.RGBA()
			seen[[3]uint32{cr, cg, cb}] = true
			if c != ground {
				n++
			}
		}
	}
	return float64(n) / float64(all), len(seen)
}
