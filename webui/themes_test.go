package webui

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A colour that some part of a picture has, or an edge, may stand out less than a text.
const (
	contrastOfText  = 4.5 // WCAG 2.2 AA
	contrastOfParts = 3.0
	contrastOfHigh  = 7.0 // AAA, of the themes of high contrast
)

var (
	themeBlock = regexp.MustCompile(`(?m)^:root(?:\[data-theme="([a-z-]+)"\])? \{\n([^}]*)\}`)
	property   = regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`)
	textColour = regexp.MustCompile(`(?:^|[^-a-z])color: var\(--([a-z-]+)\)`)
	groundOf   = regexp.MustCompile(`background(?:-color)?: var\(--([a-z-]+)\)`)
)

// notUnderAll are grounds of bars, keys and marks without text, and --text, which is below --panel alone.
var notUnderAll = []string{"edge", "grid", "control", "accent", "dim", "bad", "text"}

func sheets(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("src/*.css")
	if err != nil || len(names) < 3 {
		t.Fatalf("found the sheets %q, %v; want those of src", names, err)
	}
	all := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(b)
	}
	return all
}

func themes(t *testing.T) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	for _, m := range themeBlock.FindAllStringSubmatch(sheets(t)["src/page.css"], -1) {
		colours := map[string]string{}
		for _, p := range property.FindAllStringSubmatch(m[2], -1) {
			colours[p[1]] = p[2]
		}
		if m[1] == "" {
			m[1] = "light"
		}
		all[m[1]] = colours
	}
	if len(all) != 4 {
		t.Fatalf("page.css has %d themes, want light, dark, contrast-light and contrast-dark", len(all))
	}
	return all
}

// contrast is the ratio of WCAG 2.2 between two colours of the form #rrggbb.
func contrast(a, b string) float64 {
	light := func(colour string) float64 {
		n, err := strconv.ParseUint(colour[1:], 16, 32)
		if err != nil {
			panic(err) // the expression has found it
		}
		sum := 0.0
		for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
			c := float64(n>>(8*i)&0xff) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestContrastIsThatOfTheSpecification(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{{"#000000", "#ffffff", 21}, {"#777777", "#ffffff", 4.48}, {"#ffffff", "#ffffff", 1}} {
		if got := contrast(c.a, c.b); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%s on %s: %.2f, want %.2f", c.a, c.b, got, c.want)
		}
	}
}

// Whatever a sheet gives to text must be read on whatever a sheet puts below text.
func TestEveryTextIsReadableInEveryTheme(t *testing.T) {
	var colours, grounds []string
	for _, sheet := range sheets(t) {
		for _, m := range textColour.FindAllStringSubmatch(sheet, -1) {
			colours = append(colours, m[1])
		}
		for _, m := range groundOf.FindAllStringSubmatch(sheet, -1) {
			if !slices.Contains(notUnderAll, m[1]) && !strings.HasPrefix(m[1], "state-") {
				grounds = append(grounds, m[1])
			}
		}
	}
	all := themes(t)
	for name := range all["light"] {
		if strings.HasPrefix(name, "state-") {
			colours = append(colours, name) // states.tsx names the class of each
		}
	}
	slices.Sort(colours)
	slices.Sort(grounds)
	colours, grounds = slices.Compact(colours), slices.Compact(grounds)
	compared := 0
	for theme, values := range all {
		want := contrastOfText
		if strings.HasPrefix(theme, "contrast-") {
			want = contrastOfHigh
		}
		for _, colour := range colours {
			for _, ground := range grounds {
				under := ground
				if colour == "panel" {
					under = "text"
				}
				a, b := values[colour], values[under]
				if a == "" || b == "" {
					t.Fatalf("theme %s has no --%s or no --%s", theme, colour, under)
				}
				compared++
				if got := contrast(a, b); got < want {
					t.Errorf("theme %s: --%s %s on --%s %s: %.2f, want %.1f", theme, colour, a, under, b, got, want)
				}
			}
		}
		for _, part := range []string{"control", "accent", "rate-switches", "rate-starts", "rate-ends"} {
			for _, ground := range []string{"ground", "panel"} {
				if got := contrast(values[part], values[ground]); got < contrastOfParts {
					t.Errorf("theme %s: --%s on --%s: %.2f, want %.1f", theme, part, ground, got, contrastOfParts)
				}
			}
		}
	}
	if len(colours) < 14 || len(grounds) < 6 {
		t.Errorf("compared %q on %q: %d pairs; some of the sheets were not seen", colours, grounds, compared)
	}
}

func TestEveryThemeHasEveryColour(t *testing.T) {
	all := themes(t)
	for theme, values := range all {
		for name := range all["light"] {
			if values[name] == "" {
				t.Errorf("theme %s has no --%s", theme, name)
			}
		}
	}
	forced := regexp.MustCompile(`(?s)forced-colors: active\) \{.*?\n\}`).FindString(sheets(t)["src/page.css"])
	for name := range all["light"] {
		if !strings.Contains(forced, "--"+name+":") {
			t.Errorf("where the system forces colours, --%s is not one of its", name)
		}
	}
}

// Texts that are half transparent are half as readable: no sheet may do that, but for what is no text.
func TestNoTextIsTransparent(t *testing.T) {
	rule := regexp.MustCompile(`([^{}]*)\{([^{}]*)\}`)
	pictures := regexp.MustCompile(`^\s*(\.histogram \.total|\.bucket(\.median)? i|@.*)\s*$`)
	for name, sheet := range sheets(t) {
		for _, m := range rule.FindAllStringSubmatch(sheet, -1) {
			if regexp.MustCompile(`(^|[^-a-z])opacity:`).MatchString(m[2]) && !pictures.MatchString(m[1]) {
				t.Errorf("%s: %s has an opacity", name, strings.TrimSpace(m[1]))
			}
		}
	}
}
