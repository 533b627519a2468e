package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// line returns the line of a text that begins with a word.
func line(text, word string) string {
	for l := range strings.Lines(text) {
		if f := strings.Fields(l); len(f) > 0 && f[0] == word {
			return strings.Join(f, " ")
		}
	}
	return ""
}

// wantSettings runs vtdump settings and checks some lines of what it prints.
func wantSettings(t *testing.T, args []string, lines ...string) {
	t.Helper()
	out := succeeds(t, append([]string{"settings"}, args...)...)
	for _, want := range lines {
		word, _, _ := strings.Cut(want, " ")
		if got := line(out, word); got != want && !strings.HasPrefix(got, want+",") {
			t.Errorf("%q: got %q, want %q", args, got, want)
		}
	}
}

// answers waits until a process can be asked.
func answers(t *testing.T, pid string) {
	t.Helper()
	var r result
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if r = vtdump(t, "settings", pid, "default"); r.code == exitDone {
			return
		}
	}
	t.Fatalf("it cannot be asked: exit %d, %s", r.code, r.errors)
}

func TestSettingsAreShownAndChangedWhileTheProcessRuns(t *testing.T) {
	child, _ := start(t, 10)
	pid := strconv.Itoa(child.Process.Pid)
	wantSettings(t, []string{pid}, `settings "default"`, "park on 64 frames", "yield on", "steal off", "slice on from 20ms", "local-set off")
	answers(t, pid)
	wantSettings(t, []string{pid, "park.stack=off", "slice.threshold=5ms", "steal=on", "mount.limit=1000", "yield.every=10"}, `settings "default, changed"`,
		"park on off default: on, stack 64", "slice on from 5ms default: on, from 20ms", "steal on default: off", "mount on 1,000/s default: on", "yield on 1 in 10 default: on", "unmount on")
	wantSettings(t, []string{pid, "profile"}, `settings "profile"`, "steal on default: off", "slice on from 1ms default: on, from 20ms", "park on 64 frames")
	wantSettings(t, []string{pid, "off"}, `settings "off"`, "park off 64 frames default: on, stack 64", "mount off default: on")
	wantSettings(t, []string{pid}, `settings "off"`, "mount off default: on")

	file := filepath.Join(t.TempDir(), "mine.settings")
	if err := os.WriteFile(file, []byte("# what I want\nsettings = profile\nsteal = off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantSettings(t, []string{pid, file, "queued.threshold=2ms"}, `settings "mine"`, "steal off", "queued on from 2ms default: on, from 20ms")

	var d dump.RecorderSettings
	if err := json.Unmarshal([]byte(succeeds(t, "settings", "--json", pid)), &d); err != nil {
		t.Fatal(err)
	}
	own := 0 // of the program
	for _, k := range d.Kinds {
		if strings.Contains(k.Name, ".") {
			own++
		}
	}
	if d.Format != dump.SettingsFormat || d.Name != "mine" || !d.CPUTime || len(d.Kinds)-own != int(flight.KindCount)-3 {
		t.Errorf("got %s, %q, %v, %d kinds, of them %d of the program", d.Format, d.Name, d.CPUTime, len(d.Kinds), own)
	}

	for _, c := range []struct {
		args   []string
		code   int
		errors string
		try    string
	}{
		{[]string{"prk.stack=off"}, exitUsage, `no kind of events "prk"`, "try: park.stack=off"},
		{[]string{"park.stak=off"}, exitUsage, `park has no property "stak"`, "try: park.stack=off"},
		{[]string{"park.stack=no"}, exitUsage, "park.stack=no: want on or off", ""},
		{[]string{"yield.threshold=1ms"}, exitUsage, "yield.threshold: events of this kind have no duration", ""},
		{[]string{"profle"}, exitUsage, `no settings and no file "profle"`, "try: profile"},
		{[]string{"park=off", "profile"}, exitUsage, `"profile" is no change`, "comes first"},
		{[]string{"/dev/null"}, exitFailed, "open /dev/null: not a regular file", ""},
	} {
		got := vtdump(t, append([]string{"settings", pid}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.errors, c.errors) || !strings.Contains(got.errors, c.try) || got.out != "" {
			t.Errorf("%q: got exit %d, %q; want %d, %q, %q", c.args, got.code, got.errors, c.code, c.errors, c.try)
		}
	}
	wantSettings(t, []string{pid}, `settings "mine"`)

	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	wantSettings(t, []string{pid}, `settings "mine"`)
	fails(t, exitFailed, "it has no control socket\n    try: vtdump settings without changes: the process is gone", "settings", pid, "default")
}
