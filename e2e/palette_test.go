//go:build unix

package e2e

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// mostBytes is how large the pictures of docs/page.md may be together: everybody who clones the repository gets each version of them.
const mostBytes = 400 << 10

// small encodes a picture with at most 256 colours. Those of a screen are few, and the shades between them at the edges of letters; what is not there is shown as the nearest.
func small(picture []byte) ([]byte, error) {
	seen, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, paletted(seen))
	return out.Bytes(), err
}

// A shade is a colour, and how many points have it.
type shade struct {
	of [3]uint8
	n  int
}

func paletted(seen image.Image) *image.Paletted {
	box := seen.Bounds()
	at := func(x, y int) [3]uint8 {
		r, g, b, _ := seen.At(x, y).RGBA()
		return [3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}
	}
	counts := map[[3]uint8]int{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	all := make([]shade, 0, len(counts))
	for of, n := range counts {
		all = append(all, shade{of, n})
	}
	slices.SortFunc(all, func(a, b shade) int { return cmp.Or(b.n-a.n, slices.Compare(a.of[:], b.of[:])) })
	// The commonest as they are: grounds, texts and lines. The others by halving what differs most.
	exact := min(len(all), 128)
	var colours color.Palette
	for _, s := range all[:exact] {
		colours = append(colours, color.RGBA{s.of[0], s.of[1], s.of[2], 255})
	}
	groups := [][]shade{all[exact:]}
	for len(groups[0]) > 0 && exact+len(groups) < 256 {
		worst, channel, spread := -1, 0, 0
		for i, g := range groups {
			for c := range 3 {
				least, most := 255, 0
				for _, s := range g {
					least, most = min(least, int(s.of[c])), max(most, int(s.of[c]))
				}
				if most-least > spread {
					worst, channel, spread = i, c, most-least
				}
			}
		}
		if worst < 0 {
			break
		}
		g := groups[worst]
		slices.SortFunc(g, func(a, b shade) int {
			return cmp.Or(int(a.of[channel])-int(b.of[channel]), slices.Compare(a.of[:], b.of[:]))
		})
		groups[worst] = g[:len(g)/2]
		groups = append(groups, g[len(g)/2:])
	}
	for _, g := range groups {
		var sum [3]int
		n := 0
		for _, s := range g {
			for c := range 3 {
				sum[c] += int(s.of[c]) * s.n
			}
			n += s.n
		}
		if n > 0 {
			colours = append(colours, color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255})
		}
	}
	out := image.NewPaletted(image.Rect(0, 0, box.Dx(), box.Dy()), colours)
	nearest := map[[3]uint8]uint8{}
	for y := range box.Dy() {
		for x := range box.Dx() {
			of := at(box.Min.X+x, box.Min.Y+y)
			i, known := nearest[of]
			if !known {
				i = uint8(colours.Index(color.RGBA{of[0], of[1], of[2], 255}))
				nearest[of] = i
			}
			out.SetColorIndex(x, y, i)
		}
	}
	return out
}

// The pictures of the documentation have few colours, and are small. With -update those that have not are made so.
func TestThePicturesOfTheDocumentationAreSmall(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "docs", "page*.png"))
	if err != nil || len(files) < 3 {
		t.Fatalf("got %v, %v; want three pictures", files, err)
	}
	sum := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if _, few := seen.(*image.Paletted); !few {
			if !*update {
				t.Errorf("%s has all colours: go test -C e2e -run PicturesOfTheDocumentation -update", file)
				continue
			}
			if data, err = small(data); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		sum += len(data)
	}
	if sum > mostBytes {
		t.Errorf("the pictures are %d KB together, want at most %d", sum>>10, mostBytes>>10)
	}
}

// Nobody sees that a picture has fewer colours.
func TestAPictureWithFewColoursLooksTheSame(t *testing.T) {
	seen := image.NewRGBA(image.Rect(0, 0, 300, 200))
	for y := range 200 {
		for x := range 300 {
			c := color.RGBA{243, 245, 248, 255}
			switch {
			case y < 20:
				c = color.RGBA{26, 33, 43, 255}
			case y > 180: // shades, as at the edges of letters
				c = color.RGBA{uint8(x * 255 / 300), uint8(128 + x/3), uint8(200 - x/2), 255}
			}
			seen.SetRGBA(x, y, c)
		}
	}
	out := paletted(seen)
	if len(out.Palette) > 256 {
		t.Fatalf("%d colours", len(out.Palette))
	}
	for y := range 200 {
		for x := range 300 {
			want := seen.RGBAAt(x, y)
			r, g, b, _ := out.At(x, y).RGBA()
			for i, d := range []int{int(r>>8) - int(want.R), int(g>>8) - int(want.G), int(b>>8) - int(want.B)} {
				if limit := 6; y <= 180 && d != 0 || d > limit || d < -limit {
					t.Fatalf("at %d, %d: channel %d is %d off", x, y, i, d)
				}
			}
		}
	}
}
