//go:build unix

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Screens that are committed are compared in two ways, neither of which minds other figures: where the boxes of the page are, to a few pixels, and how bright
// it is in coarse squares.
const (
	shrink     = 3    // of the committed pictures
	square     = 16   // pixels of those that one mean is taken of
	mostUnlike = 0.06 // of the squares may be unlike
	unlike     = 14   // of 255
	nearby     = 12   // pixels that a box may have moved
)

// A box is a part of the page, as it stands on a screen.
type box struct {
	Name       string
	X, Y, W, H float64
}

func (b *browser) boxes() (all []box) {
	b.Helper()
	got := b.text(`JSON.stringify([...document.querySelectorAll("header, footer, section.panel, figure, h2, dialog[open]")].filter(e => e.getClientRects().length > 0).map(e => {
		const r = e.getBoundingClientRect(), of = e.closest("[id]")?.id ?? "";
		return {Name: of + " " + e.tagName.toLowerCase(), X: Math.round(r.x), Y: Math.round(r.y), W: Math.round(r.width), H: Math.round(r.height)};
	}))`)
	if err := json.Unmarshal([]byte(got), &all); err != nil {
		b.Fatal(err)
	}
	return all
}

// compared takes a picture, keeps it in build/screens, and compares it with what is committed; with -update it becomes that.
func (b *browser) compared(name string) {
	b.Helper()
	picture, boxes := b.screen(name), b.boxes()
	seen, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		b.Fatal(err)
	}
	small := shrunk(seen)
	at := filepath.Join("testdata", "screens", name)
	if *update {
		var out bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
			b.Fatal(err)
		}
		var lines []string
		for _, x := range boxes {
			lines = append(lines, fmt.Sprintf("%s: %v %v %v %v", x.Name, x.X, x.Y, x.W, x.H))
		}
		for file, data := range map[string][]byte{at + ".png": out.Bytes(), at + ".txt": []byte(strings.Join(lines, "\n") + "\n")} {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(file, data, 0o644); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	for _, bad := range append(unlikeBoxes(at+".txt", boxes), unlikePicture(at+".png", small)...) {
		b.Errorf("%s: %s; see build/screens/%s.png, and with -update it is what is right", name, bad, name)
	}
}

// unlikeBoxes says which boxes are lost, new, or elsewhere.
func unlikeBoxes(file string, boxes []box) (bad []string) {
	data, err := os.ReadFile(file)
	if err != nil {
		return []string{err.Error()}
	}
	rest := slices.Clone(boxes)
	for line := range strings.Lines(string(data)) {
		var want box
		name, figures, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if n, err := fmt.Sscan(figures, &want.X, &want.Y, &want.W, &want.H); !ok || n != 4 {
			return []string{fmt.Sprintf("%s: %q: %v", file, line, err)}
		}
		i := slices.IndexFunc(rest, func(x box) bool { return x.Name == name })
		if i < 0 {
			bad = append(bad, fmt.Sprintf("no %s", name))
			continue
		}
		got := rest[i]
		rest = slices.Delete(rest, i, i+1)
		near := func(a, b float64) bool { return max(a-b, b-a) <= nearby }
		if !near(got.X, want.X) || !near(got.Y, want.Y) || !near(got.X+got.W, want.X+want.W) || !near(got.Y+got.H, want.Y+want.H) {
			bad = append(bad, fmt.Sprintf("%s is at %v,%v and %vx%v, want %v,%v and %vx%v", name, got.X, got.Y, got.W, got.H, want.X, want.Y, want.W, want.H))
		}
	}
	for _, x := range rest {
		bad = append(bad, fmt.Sprintf("%s is new", x.Name))
	}
	return bad
}

// unlikePicture says how many squares of a picture are brighter or darker.
func unlikePicture(file string, got *image.Gray) []string {
	f, err := os.Open(file)
	if err != nil {
		return []string{err.Error()}
	}
	defer f.Close()
	decoded, err := png.Decode(f)
	if err != nil {
		return []string{file + ": " + err.Error()}
	}
	want, ok := decoded.(*image.Gray)
	if !ok || want.Bounds() != got.Bounds() {
		return []string{fmt.Sprintf("the picture is %v, want %v", got.Bounds(), decoded.Bounds())}
	}
	all, bad := 0, 0
	for y := 0; y+square <= got.Bounds().Dy(); y += square {
		for x := 0; x+square <= got.Bounds().Dx(); x += square {
			all++
			if d := mean(got, x, y) - mean(want, x, y); d > unlike || d < -unlike {
				bad++
			}
		}
	}
	if float64(bad) > mostUnlike*float64(all) {
		return []string{fmt.Sprintf("%d of %d squares look unlike, want at most %.0f %%", bad, all, 100*mostUnlike)}
	}
	return nil
}

func mean(p *image.Gray, x, y int) int {
	sum := 0
	for dy := range square {
		for dx := range square {
			sum += int(p.GrayAt(x+dx, y+dy).Y)
		}
	}
	return sum / (square * square)
}

// shrunk is a picture in grey, a third as wide and high.
func shrunk(p image.Image) *image.Gray {
	r := p.Bounds()
	out := image.NewGray(image.Rect(0, 0, r.Dx()/shrink, r.Dy()/shrink))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			sum := 0
			for i := range shrink * shrink {
				sum += int(color.GrayModel.Convert(p.At(r.Min.X+x*shrink+i%shrink, r.Min.Y+y*shrink+i/shrink)).(color.Gray).Y)
			}
			out.SetGray(x, y, color.Gray{Y: uint8(sum / (shrink * shrink))})
		}
	}
	return out
}
