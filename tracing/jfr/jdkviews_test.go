package jfr_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/jfr"
	"github.com/vtscope/vtscope/tracing/jfr/jfrtest"
)

func TestTheJDKKnowsTheKindsByTheirLabels(t *testing.T) {
	_, _, data := export(t, everything(), jfr.Options{})
	file := exported(t, data)
	eachJDK(t, 11, func(t *testing.T, j jdk) {
		text := j.run(t, "metadata", file)
		for k := flight.EventNone + 1; k < flight.KindCount; k++ {
			if k == flight.EventMore {
				continue
			}
			name := typeName(k)
			at := strings.Index(text, "class "+strings.TrimPrefix(name[strings.LastIndexByte(name, '.'):], ".")+" extends jdk.jfr.Event")
			if at < 0 {
				t.Errorf("%s: no class of this name", name)
				continue
			}
			head := text[max(at-800, 0):at]
			head = head[max(0, strings.LastIndex(head, "@Name(")):]
			about := flight.Kinds[k].About
			if want := strings.ToUpper(about[:1]) + about[1:]; name != checkout.Name && !strings.Contains(head, want) {
				t.Errorf("%s: got %q, want it to say %q", name, head, want)
			}
			if !strings.Contains(head, `@Name("`+name+`")`) || !strings.Contains(head, "@Label(") || !strings.Contains(head, "@Category(") {
				t.Errorf("%s: got %q, want a name, a label and a category", name, head)
			}
		}
	})
}

func TestTheJDKShowsItsViews(t *testing.T) {
	_, _, data := export(t, everything(), jfr.Options{CPU: cpuProfile()})
	file := exported(t, data)
	eachJDK(t, 21, func(t *testing.T, j jdk) {
		for view, want := range map[string]string{
			"pinned-threads":        "github.com.acme.shop.cart.(*Service).Checkout()",
			"latencies-by-type":     "Java Monitor Blocked",
			"contention-by-class":   "mutex",
			"contention-by-thread":  "GET /cart",
			"contention-by-address": "0xC000010000",
			"active-settings":       "Virtual Thread Pinned",
			"active-recordings":     "script",
			"jvm-information":       "go1.26",
			"thread-count":          "Active Threads",
			"hot-methods":           "main.burn()",
			"recording":             "Event Count",
			"cart.Checkout":         "total weight",
			"vt.Park":               "Blocker",
			"vt.Mount":              "Queue Time",
		} {
			// The width is that of everything: else names are cut.
			if got := j.run(t, "view", "--width", "300", view, file); !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want it to show %q", view, got, want)
			}
		}
	})
}

func TestTheJDKCanTakeAFileApart(t *testing.T) {
	load := &recordingtest.Load{Threads: 100, Events: 20_000}
	f, stats, data := export(t, &mix{load, 5}, jfr.Options{ChunkSize: 128 << 10})
	file := exported(t, data)
	eachJDK(t, 11, func(t *testing.T, j jdk) {
		dir := t.TempDir()
		j.run(t, "disassemble", "--output", dir, "--max-chunks", "1", file)
		parts, _ := filepath.Glob(filepath.Join(dir, "*.jfr"))
		if len(parts) != stats.Chunks {
			t.Fatalf("got %d parts, want %d", len(parts), stats.Chunks)
		}
		again := filepath.Join(dir, "again.jfr")
		j.run(t, "assemble", dir, again)
		if got, err := os.ReadFile(again); err != nil || string(got) != string(data) {
			t.Errorf("put together again: got %d bytes and %v, want the same %d", len(got), err, len(data))
		}
	})
	eachJDK(t, 21, func(t *testing.T, j jdk) {
		less := filepath.Join(t.TempDir(), "less.jfr")
		j.run(t, "scrub", "--exclude-events", "vt.Mount", file, less)
		got, err := os.ReadFile(less)
		if err != nil {
			t.Fatal(err)
		}
		scrubbed, err := jfrtest.Read(got)
		if err != nil {
			t.Fatalf("read what was scrubbed: %v", err)
		}
		want := f.Counts()
		delete(want, "vt.Mount")
		for name, n := range scrubbed.Counts() {
			if want[name] != n {
				t.Errorf("%s: got %d events after scrub, want %d", name, n, want[name])
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("after scrub there are no %v", want)
		}
		if summary := counts(j.run(t, "summary", less)); summary["vt.Mount"] != 0 || summary["vt.Park"] == 0 {
			t.Errorf("after scrub: got %d mounts and %d parks", summary["vt.Mount"], summary["vt.Park"])
		}
	})
}
