package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

func readProfile(t *testing.T, file string) *pprof.Profile {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(b)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return p
}

// total sums the first values of samples with a label; all of them if it is "".
func total(p *pprof.Profile, label, value string) (n int64) {
	for _, s := range p.Sample {
		if label == "" || strings.Join(s.Label[label], "") == value {
			n += s.Value[0]
		}
	}
	return n
}

// hasNames reports whether all functions have their names.
func hasNames(p *pprof.Profile) bool {
	return !slices.ContainsFunc(p.Function, func(f *pprof.Function) bool { return strings.HasPrefix(f.Name, "0x") })
}

func TestProfilesOfAProcessItsRecordingAndItsRemains(t *testing.T) {
	child, _ := startAs(t, busyTarget)
	pid := strconv.Itoa(child.Process.Pid)
	dir := t.TempDir()
	t.Chdir(dir)
	lock := filepath.Join(dir, "lock.pb.gz")
	var p *pprof.Profile
	// On a busy machine all of a second may be overwritten unread, and the names of functions are written a moment after their stacks.
	for deadline := time.Now().Add(time.Minute); p == nil || (total(p, "", "") == 0 || !hasNames(p)) && time.Now().Before(deadline); {
		r := vtdump(t, "profile", pid, "lock", "--seconds", "1", "-o", lock)
		if r.code != exitDone || r.out != "" || !strings.HasPrefix(r.errors, "wrote "+lock+": ") {
			t.Fatalf("got %+v, want a file", r)
		}
		if p = readProfile(t, lock); total(p, "", "") == 0 || !hasNames(p) {
			t.Logf("again, since: %s", r.errors)
		}
	}
	if d := time.Duration(p.DurationNanos); total(p, "reason", "lock") == 0 || total(p, "reason", "lock") != total(p, "", "") || d < 900*time.Millisecond {
		t.Errorf("got %d waits for a lock of %d in %v, want those of a second", total(p, "reason", "lock"), total(p, "", ""), d)
	}
	cmd := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", lock)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "vsync.(*Mutex).Lock") {
		t.Errorf("pprof: %v, want the lock in\n%s", err, out)
	}
	if out := eventually(t, `reason="lock"`, "profile", pid, "threads", "--format", "text"); !strings.HasPrefix(out, "profile threads: ") {
		t.Errorf("text: got\n%s", out)
	}
	succeedsQuietly(t, "profile", pid, "leak")
	if files, _ := filepath.Glob("*-" + pid + ".leak.pb.gz"); len(files) != 1 {
		t.Errorf("got files %q, want one that is named as the program", files)
	}
	fails(t, exitFailed, "runtime/flight/profiling", "profile", pid, "cpu", "--seconds", "1")

	// A recording: each park is counted once.
	vtr := filepath.Join(dir, "run.vtr")
	half, parks := recordedParks(t, pid, vtr)
	for deadline := time.Now().Add(time.Minute); (parks[true] == 0 || parks[false] == 0) && time.Now().Before(deadline); { // as above
		t.Logf("again, since there are %v parks in the first half, and not", parks)
		half, parks = recordedParks(t, pid, vtr)
	}
	for target, want := range map[string]int64{vtr: parks[true] + parks[false], vtr + "@" + half.String(): parks[true]} {
		file := filepath.Join(dir, "park.pb.gz")
		succeedsQuietly(t, "profile", target, "park", "-o", file)
		if got := total(readProfile(t, file), "", ""); got != want || got == 0 {
			t.Errorf("%s: got %d parks, the recording has %d", target, got, want)
		}
	}
	threads := filepath.Join(dir, "threads.pb.gz")
	succeedsQuietly(t, "profile", vtr, "threads", "-o", threads)
	if total(readProfile(t, threads), "", "") == 0 {
		t.Error("threads of a recording: got none")
	}
	fails(t, exitFailed, "there is no such profile of a recording", "profile", vtr, "cpu")
	fails(t, exitUsage, "is of a moment", "profile", vtr, "threads", "--seconds", "1")

	// Its remains: what the rings still hold.
	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	rest := filepath.Join(dir, "rest.pb.gz")
	succeedsQuietly(t, "profile", pid, "park", "-o", rest)
	// A thread that yields may have filled a ring within a few milliseconds: then there are few parks, or none.
	reader, err := flight.OpenPID(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var held bytes.Buffer
	if _, err := recording.Record(t.Context(), reader, &held, recording.Options{Held: true}); err != nil {
		t.Fatal(err)
	}
	remains, err := recording.NewFile(bytes.NewReader(held.Bytes()), int64(held.Len()))
	if err != nil {
		t.Fatal(err)
	}
	defer remains.Close()
	want, events := int64(0), 0
	if err := remains.Read(t.Context(), func(b *recording.Batch) bool {
		for i := range b.Events {
			events++
			if b.Events[i].Kind == flight.EventPark {
				want++
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if got := total(readProfile(t, rest), "", ""); got != want || events == 0 {
		t.Errorf("of a process that was killed: got %d parks, its rings have %d among %d events", got, want, events)
	}
	succeedsQuietly(t, "profile", pid, "threads", "-o", rest)
	fails(t, exitFailed, "cannot be asked", "profile", pid, "cpu")
	fails(t, exitFailed, "--seconds: the process is gone", "profile", pid, "threads", "--seconds", "1")
}

// recordedParks records a process for a while, and returns half of the time and how many parks are in the first half, and how many not.
func recordedParks(t *testing.T, pid, vtr string) (half time.Duration, parks map[bool]int64) {
	t.Helper()
	if err := os.RemoveAll(vtr); err != nil {
		t.Fatal(err)
	}
	succeeds(t, "record", pid, "-o", vtr, "--for", "300ms")
	f, err := recording.Open(vtr)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info := f.Info()
	half, parks = info.To.Sub(info.From)/2, map[bool]int64{}
	if err := f.Read(t.Context(), func(b *recording.Batch) bool {
		for i := range b.Events {
			if b.Events[i].Kind == flight.EventPark {
				parks[b.Events[i].Time <= half]++
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return half, parks
}

// succeedsQuietly runs vtdump, which must print nothing on standard output.
func succeedsQuietly(t *testing.T, args ...string) {
	t.Helper()
	if r := vtdump(t, args...); r.code != exitDone || r.out != "" {
		t.Fatalf("vtdump %q: got exit %d, %q and %q", args, r.code, r.out, r.errors)
	}
}

func TestProfilesOfDumps(t *testing.T) {
	f := recorded(t)
	dir := t.TempDir()
	dumped := filepath.Join(dir, "dump.json")
	if err := os.WriteFile(dumped, []byte(succeeds(t, "--json", f.Path)), 0o600); err != nil {
		t.Fatal(err)
	}
	traces := filepath.Join(dir, "traces.txt")
	if err := os.WriteFile(traces, []byte("goroutine 1 [chan receive, 5 minutes]:\nmain.main()\n\t/src/main.go:7 +0x10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.pb.gz")
	for target, want := range map[string]int64{f.Path: 1000, dumped: 1000, traces: 1} {
		succeedsQuietly(t, "profile", target, "threads", "-o", out)
		if got := total(readProfile(t, out), "", ""); got != want {
			t.Errorf("%s: got %d threads, want %d", target, got, want)
		}
	}
	succeedsQuietly(t, "profile", f.Path, "threads", "-o", out)
	if got := total(readProfile(t, out), "name", "GET /cart/*"); got != 999 {
		t.Errorf("got %d threads by their name's template, want 999", got)
	}
	if r := vtdump(t, "profile", dumped, "threads", "-o", "-"); r.code != exitDone {
		t.Errorf("standard output: got %+v", r)
	} else if _, err := pprof.Parse(bytes.NewReader([]byte(r.out))); err != nil {
		t.Errorf("standard output: %v", err)
	}
	fails(t, exitUsage, "has the threads of one moment", "profile", dumped, "park")
	fails(t, exitUsage, "has groups, and not threads", "profile", dumped, "leak")
	fails(t, exitUsage, "is of one moment", "profile", dumped, "threads", "--seconds", "1")
	fails(t, exitUsage, "is the target itself", "profile", dumped, "threads", "-o", dumped)
}

func TestProfileCallsThatAreNotUnderstood(t *testing.T) {
	fails(t, exitUsage, "profile needs a target", "profile")
	fails(t, exitUsage, "profile needs the name of one\n    try: vtdump profile 4711 park; there are threads, park, ", "profile", "4711")
	fails(t, exitUsage, `no profile "parks": there are`, "profile", "4711", "parks")
	fails(t, exitUsage, "one profile at a time", "profile", "4711", "park", "lock")
	fails(t, exitUsage, "want a whole number from 1 to 3600", "profile", "4711", "park", "--seconds", "0")
	fails(t, exitUsage, "--format json means nothing to profile", "profile", "4711", "park", "--json")
	fails(t, exitUsage, "--seconds means nothing to waits", "waits", "4711", "--seconds", "1")
	for _, c := range candidates(t.Context(), world{now: time.Now}, []string{"profile", "4711", "p"}) {
		if c.word != "park" && c.word != "pinned" {
			t.Errorf("completion: got %q, want park and pinned", c.word)
		}
	}
	if got := candidates(t.Context(), world{now: time.Now}, []string{"profile", "4711", "p"}); len(got) != 2 {
		t.Errorf("completion: got %v, want two", got)
	}
}
