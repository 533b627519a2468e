package jfr_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/tracing/jfr"
	"github.com/vtscope/vtscope/tracing/jfr/jfrtest"
)

// A jdk is an installed jfr command.
type jdk struct {
	path    string
	version int
}

// jdks finds jfr commands on the PATH and where distributions put JDKs.
func jdks() (all []jdk) {
	paths, _ := filepath.Glob("/usr/lib/jvm/*/bin/jfr")
	if p, err := exec.LookPath("jfr"); err == nil {
		paths = append(paths, p)
	}
	seen := map[string]bool{}
	for _, p := range paths {
		real, err := filepath.EvalSymlinks(p)
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		release, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(real)), "release")) // the command tells a version of its own
		version := 0
		if m := regexp.MustCompile(`JAVA_VERSION="(\d+)`).FindSubmatch(release); err == nil && m != nil {
			version, _ = strconv.Atoi(string(m[1]))
		}
		all = append(all, jdk{real, version})
	}
	return all
}

// eachJDK calls f with each jfr command of at least a version.
func eachJDK(t *testing.T, from int, f func(t *testing.T, j jdk)) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a JVM some times")
	}
	n := 0
	for _, j := range jdks() {
		if j.version >= from {
			n++
			t.Run(fmt.Sprintf("jdk=%d", j.version), func(t *testing.T) { f(t, j) })
		}
	}
	if n == 0 {
		t.Skipf("no jfr command of a JDK %d or newer, on the PATH or below /usr/lib/jvm", from)
	}
}

// run calls the command, which must succeed.
func (j jdk) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), j.path, args...)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	cmd.WaitDelay = time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("jfr %q: %v: %s%s", args, err, out, errs.Bytes())
	}
	return string(out)
}

// exported writes a file, and returns where it is.
func exported(t *testing.T, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "run.jfr")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// counts reads what jfr summary says of each type.
func counts(summary string) map[string]int {
	all := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^ ([\w.$]+) +(\d+) +\d+ *$`).FindAllStringSubmatch(summary, -1) {
		all[m[1]], _ = strconv.Atoi(m[2])
	}
	return all
}

func TestTheJDKCountsTheSameEvents(t *testing.T) {
	for name, make := range map[string]func() (*jfrtest.File, jfr.Stats, []byte){
		"everything": func() (*jfrtest.File, jfr.Stats, []byte) { return export(t, everything(), jfr.Options{}) },
		"late":       func() (*jfrtest.File, jfr.Stats, []byte) { return export(t, late(), jfr.Options{ChunkSize: 4 << 10}) },
		"load": func() (*jfrtest.File, jfr.Stats, []byte) {
			return export(t, &mix{&recordingtest.Load{Threads: 500, Events: 30_000}, 3}, jfr.Options{ChunkSize: 256 << 10})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, stats, data := make()
			file := exported(t, data)
			eachJDK(t, 11, func(t *testing.T, j jdk) {
				summary := j.run(t, "summary", file)
				got := counts(summary)
				if !strings.Contains(summary, fmt.Sprintf("Chunks: %d\n", stats.Chunks)) {
					t.Errorf("got %.200s, want %d chunks", summary, stats.Chunks)
				}
				for name, want := range f.Counts() {
					if got[name] != want {
						t.Errorf("%s: got %d events, want %d", name, got[name], want)
					}
				}
			})
		})
	}
}

// TestTheJDKReadsEachFieldAsItWasWritten compares what jfr print --json says with what the decoder of ours does.
func TestTheJDKReadsEachFieldAsItWasWritten(t *testing.T) {
	f, _, data := export(t, everything(), jfr.Options{})
	load, _, loaded := export(t, &mix{&recordingtest.Load{Threads: 50, Events: 600}, 4}, jfr.Options{ChunkSize: 16 << 10})
	_, _, lateData := export(t, late(), jfr.Options{ChunkSize: 4 << 10})
	file, second, third := exported(t, data), exported(t, loaded), exported(t, lateData)
	eachJDK(t, 11, func(t *testing.T, j jdk) {
		compareJSON(t, j, f, file, "*")
		compareJSON(t, j, load, second, "jdk.Virtual*,jdk.Thread*,jdk.JavaMonitor*,vt.*,cart.*")
		// Readers that think they know the types drop those that come later, silently.
		if n := strings.Count(j.run(t, "print", "--events", checkout.Name, third), checkout.Name+" {"); n != 300 {
			t.Errorf("a type that comes late: got %d events, want 300", n)
		}
	})
}

func compareJSON(t *testing.T, j jdk, f *jfrtest.File, file, filter string) {
	t.Helper()
	args := []string{"print", "--json", "--stack-depth", "64", file}
	if filter != "*" {
		args = []string{"print", "--json", "--stack-depth", "64", "--events", filter, file}
	}
	var doc struct {
		Recording struct {
			Events []struct {
				Type   string
				Values map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(j.run(t, args...)), &doc); err != nil {
		t.Fatal(err)
	}
	// They come in an order of their own: compare them type by type, as texts.
	got, want := map[string][]string{}, map[string][]string{}
	for _, e := range doc.Recording.Events {
		got[e.Type] = append(got[e.Type], render(e.Values, j, ""))
	}
	patterns := strings.Split(filter, ",")
	for e := range f.Events("") {
		if slices.ContainsFunc(patterns, func(p string) bool { ok, _ := filepath.Match(p, e.Class.Name); return ok }) {
			want[e.Class.Name] = append(want[e.Class.Name], render(values(f, e.Struct, ""), j, ""))
		}
	}
	if len(want) < 10 {
		t.Fatalf("%s: got %d types, want 10 at least", filter, len(want))
	}
	for name, texts := range want {
		slices.Sort(texts)
		slices.Sort(got[name])
		if len(got[name]) != len(texts) {
			t.Errorf("%s: got %d events, want %d", name, len(got[name]), len(texts))
			continue
		}
		for i := range texts {
			if got[name][i] != texts[i] {
				t.Errorf("%s:\n got %s\nwant %s", name, got[name][i], texts[i])
				break
			}
		}
	}
}

// values turns what the decoder of ours read into what JSON would be.
func values(f *jfrtest.File, s *jfrtest.Struct, note string) map[string]any {
	m := map[string]any{}
	for _, field := range s.Class.Fields {
		m[field.Name] = value(f, s.Get(field.Name), field)
	}
	return m
}

func value(f *jfrtest.File, v any, field jfrtest.Field) any {
	switch v := v.(type) {
	case int64:
		switch {
		case field.Notes["jdk.jfr.Timestamp"] != nil:
			if v == math.MinInt64 {
				return "-"
			}
			at := time.UnixMilli(v)
			if field.Notes["jdk.jfr.Timestamp"][0] == "TICKS" {
				c := f.Chunks[0]
				at = time.Unix(0, c.StartNanos+v-c.StartTicks)
			}
			return at.UTC().Format(time.RFC3339Nano)
		case field.Notes["jdk.jfr.Timespan"] != nil:
			if v == math.MinInt64 {
				return "-"
			}
			d := time.Duration(v)
			if field.Notes["jdk.jfr.Timespan"][0] == "MILLISECONDS" {
				d *= time.Millisecond
			}
			return d.String()
		}
		return float64(v)
	case *jfrtest.Struct:
		return values(f, v, "")
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = value(f, v[i], field)
		}
		return list
	}
	return v
}

// iso is a duration as the JDK prints it.
var iso = regexp.MustCompile(`^P(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)$`)

// render writes a value in one way, whichever JDK printed it.
func render(v any, j jdk, name string) string {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			switch {
			case k == "virtual", k == "osThreadId", k == "type" && v["bytecodeIndex"] != nil: // JDKs before 21 leave the first out, later ones the second of virtual threads
			case k == "parent" && v["scope"] == nil, k == "package", k == "modifiers", k == "exported", k == "hidden":
			default:
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		var b strings.Builder
		for _, k := range keys {
			fmt.Fprintf(&b, "%s=%s ", k, render(v[k], j, k))
		}
		return "{" + b.String() + "}"
	case []any:
		var b strings.Builder
		for i := range v {
			b.WriteString(render(v[i], j, name))
		}
		return "[" + b.String() + "]"
	case string:
		if strings.HasPrefix(v, "PT-2562047788015215H") || strings.HasPrefix(v, "-999999999-") {
			return "-" // what is not known, in JSON
		}
		if m := iso.FindStringSubmatch(v); m != nil {
			var d time.Duration
			for i, unit := range []string{"h", "m", "s"} {
				if m[i+1] != "" {
					part, _ := time.ParseDuration(m[i+1] + unit)
					d += part
				}
			}
			return d.String()
		}
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
		if name == "name" || name == "descriptor" {
			v = strings.ReplaceAll(v, "/", ".") // of classes: some print it so
		}
		return v
	}
	return fmt.Sprint(v)
}
