package profile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/agent/control"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// A program is a child that runs.
type program struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	r   *flight.Reader
}

func start(t testing.TB) *program {
	t.Helper()
	t.Setenv("VTSCOPE_DIR", flighttest.Dir(t))
	p := &program{t: t, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), asChild+"=1")
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	p.out = bufio.NewReader(out)
	p.hear("ready")
	if p.r, err = flight.OpenPID(p.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.r.Close() })
	return p
}

func (p *program) hear(word string) {
	p.t.Helper()
	if line, err := p.out.ReadString('\n'); err != nil || line != word+"\n" {
		p.t.Fatalf("child: got %q, %v; want %s", line, err, word)
	}
}

func (p *program) tell(word string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, word+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// counters are what the process has counted, by kind of event and by reason for parks.
type counters struct {
	kinds [flight.KindCount]uint64
	parks [flight.ReasonCount]uint64
}

func (p *program) counters() (c counters) {
	p.t.Helper()
	rings, err := p.r.Rings()
	if err != nil {
		p.t.Fatal(err)
	}
	for i := range rings {
		for k := range c.kinds {
			c.kinds[k] += rings[i].Counts[k]
		}
		for r := range c.parks {
			c.parks[r] += rings[i].Parks[r]
		}
	}
	return c
}

// follow observes the process until the test ends. each is called after each event, if it is not nil.
func (p *program) follow(each func(*recording.Event)) *Process {
	p.t.Helper()
	src, err := NewProcess(p.r, ProcessOptions{CPU: func(ctx context.Context, d time.Duration) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, d+2*time.Minute)
		defer cancel()
		return control.Ask(ctx, p.r.Process().Path, "profile", fmt.Appendf(nil, "cpu %v", d))
	}})
	if err != nil {
		p.t.Fatal(err)
	}
	live, err := recording.NewLive(p.r, recording.LiveOptions{Every: 20 * ms})
	if err != nil {
		p.t.Fatal(err)
	}
	var o recording.Observer = src.Events()
	if each != nil {
		o = observer{src.Events(), each}
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- recording.Observe(ctx, live, o) }()
	p.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			p.t.Error(err)
		}
	})
	eventually(p.t, "the first state", src.Events().Began)
	return src
}

// The sums of profiles are what the flight file says that the process has counted.
func TestSumsAreTheCountersOfTheProcess(t *testing.T) {
	p := start(t)
	before := p.counters()
	src := p.follow(nil)
	p.tell("some")
	p.hear("done")
	var problem string
	eventually(t, "sums that agree", func() bool {
		// The process may park and mount in between: both are read again then.
		after, m := p.counters(), src.Events().Mark()
		problem = ""
		parks, _ := counted(m, whatPark)
		for r := range parks {
			if want := after.parks[r] - before.parks[r]; parks[r] != want {
				problem += fmt.Sprintf("parks for %s: got %d, want %d\n", flight.Reason(r), parks[r], want)
			}
		}
		for _, c := range []struct {
			what what
			kind flight.Kind
		}{{whatPark, flight.EventPark}, {whatReady, flight.EventMount}, {whatRun, flight.EventMount}, {whatPinned, flight.EventPinned}} {
			if _, got := counted(m, c.what); got != after.kinds[c.kind]-before.kinds[c.kind] {
				problem += fmt.Sprintf("%s: got %d, want %d\n", c.kind, got, after.kinds[c.kind]-before.kinds[c.kind])
			}
		}
		if m.lost > 0 {
			t.Fatalf("%d events were lost of a process that does little", m.lost)
		}
		return problem == ""
	})
	m := src.Events().Mark()
	parks, _ := counted(m, whatPark)
	if _, pins := counted(m, whatPinned); parks[flight.ReasonSleep] < 20 || parks[flight.ReasonLock] == 0 || pins < 3 {
		t.Errorf("got %v parks and %d pins, want 20 sleeps, waits for a lock, and 3 pins at least\n%s", parks, pins, problem)
	}
	names := map[string]bool{}
	for _, s := range made(t, src.Events(), "lock", nil, m).Sample {
		names[strings.Join(s.Label["scope"], "")+" "+strings.Join(s.Label["name"], "")] = true
	}
	if !names["root/shop cart *"] {
		t.Errorf("lock: got samples of %v, want of cart * in root/shop", names)
	}
}

// Who reads too slowly misses events; what is missing is no more than what is told to be lost.
func TestLostEventsAreAccountedFor(t *testing.T) {
	p := start(t)
	before := p.counters()
	slow, first := make(chan struct{}), true
	src := p.follow(func(*recording.Event) {
		if first {
			first = false
			<-slow
		}
	})
	p.tell("many")
	p.hear("done")
	close(slow)
	var m *Mark
	var after counters
	eventually(t, "all that can be read", func() bool {
		after, m = p.counters(), src.Events().Mark()
		_, parks := counted(m, whatPark)
		_, mounts := counted(m, whatRun)
		missing := after.kinds[flight.EventPark] + after.kinds[flight.EventMount] - before.kinds[flight.EventPark] - before.kinds[flight.EventMount] - parks - mounts
		return m.lost > 0 && parks > 0 && missing <= m.lost
	})
	parks, _ := counted(m, whatPark)
	for r := range parks {
		if all := after.parks[r] - before.parks[r]; parks[r] > all {
			t.Errorf("parks for %s: got %d, the process counted %d", flight.Reason(r), parks[r], all)
		}
	}
	told := strings.Join(made(t, src.Events(), "park", nil, m).Comments, "\n")
	if !strings.Contains(told, "lost: counts are too low by so many at most") {
		t.Errorf("got %q, want the loss", told)
	}
	t.Logf("%d parks counted of %d, %d events lost", parks[flight.ReasonPark], after.parks[flight.ReasonPark]-before.parks[flight.ReasonPark], m.lost)
}

// What used the processors is Go's own profile, with our labels.
func TestCPUIsGosOwnProfileWithOurLabels(t *testing.T) {
	p := start(t)
	src := p.follow(nil)
	p.tell("busy")
	var prof *pprof.Profile
	labelled := 0
	eventually(t, "samples of who computes", func() bool { // on a busy machine it may not have begun within a second
		var err error
		if prof, err = Take(t.Context(), KindOf("cpu"), src, time.Second); err != nil {
			t.Fatal(err)
		}
		for _, s := range prof.Sample {
			if strings.Join(s.Label["scope"], "") == "root/compute" && strings.Join(s.Label["name"], "") == "worker *" && s.Label["vtscope.scope"] == nil {
				labelled++
			}
		}
		return labelled > 0
	})
	p.tell("enough")
	p.hear("done")
	if labelled == 0 || prof.PeriodType.Type != "cpu" {
		t.Errorf("got %d samples of scope compute of %d, want some, in a CPU profile\n%v", labelled, len(prof.Sample), prof)
	}
}

// pprofTool runs "go tool pprof", and returns what it prints.
func pprofTool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "pprof"}, args...)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go tool pprof %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// "go tool pprof" reads every profile from the server as it is, and compares two of a process.
func TestGoToolPprofReadsWhatIsServed(t *testing.T) {
	p := start(t)
	src := p.follow(nil)
	server := httptest.NewServer(Handler(One(src)))
	defer server.Close()
	at := server.URL + Prefix
	dir := t.TempDir()
	before := filepath.Join(dir, "before.pb.gz")
	fetch(t, at+"lock", before)
	p.tell("some")
	p.hear("done")
	eventually(t, "all that happened", func() bool {
		m := src.Events().Mark()
		parks, _ := counted(m, whatPark)
		_, pins := counted(m, whatPinned)
		return parks[flight.ReasonLock] > 0 && parks[flight.ReasonSleep] >= 20 && pins >= 3
	})
	for _, kind := range []string{"lock", "park", "pinned"} {
		eventually(t, "names of all functions", func() bool { return !strings.Contains(pprofTool(t, "-top", at+kind), " 0x") })
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"-top", at + "lock"}, []string{"Type: delay", "vsync.(*Mutex).Lock", "profile.some"}},
		{[]string{"-top", "-sample_index=contentions", at + "park"}, []string{"Type: contentions", "vthread.Sleep"}},
		{[]string{"-tags", at + "park"}, []string{"scope", "root/shop", "reason", "sleep", "state", "timed-parked", "name", "cart *", "blocker"}},
		{[]string{"-top", at + "pinned"}, []string{"Type: delay", "some.func"}},
		{[]string{"-top", "-sample_index=victims", at + "pinned"}, []string{"Type: victims"}},
		{[]string{"-top", at + "ready"}, []string{"Type: delay", "[runnable]"}},
		{[]string{"-top", at + "run"}, []string{"Type: run"}},
		{[]string{"-top", at + "threads"}, []string{"Type: goroutine"}},
		{[]string{"-top", at + "leak"}, []string{"Type: waited"}},
		{[]string{"-comments", at + "io"}, []string{"empty: no thread waited for input or output"}},
		{[]string{"-top", "-tagfocus=scope=root/shop", at + "lock"}, []string{"profile.some"}},
		{[]string{"-top", "-seconds=1", at + "park"}, []string{"Duration: "}},
		{[]string{"-top", "-diff_base", before, at + "lock"}, []string{"vsync.(*Mutex).Lock"}},
	} {
		out := pprofTool(t, c.args...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("pprof %q: got\n%s\nwant %q", c.args[:len(c.args)-1], out, want)
			}
		}
	}
	// The same with itself is nothing.
	after := filepath.Join(dir, "after.pb.gz")
	fetch(t, at+"lock", after)
	if out := pprofTool(t, "-top", "-sample_index=contentions", "-diff_base", after, after); strings.Contains(out, "Lock") {
		t.Errorf("compared with itself: got\n%s\nwant nothing", out)
	}
}

// What happens in a stretch is followed for that alone.
func TestAProcessIsFollowedForAWhile(t *testing.T) {
	p := start(t)
	enough, done := make(chan struct{}), make(chan struct{})
	go func() { // one after the other, as long as it is followed
		defer close(done)
		for {
			select {
			case <-enough:
				return
			default:
			}
			if _, err := io.WriteString(p.in, "some\n"); err != nil {
				return
			}
			if _, err := p.out.ReadString('\n'); err != nil {
				return
			}
		}
	}()
	began := time.Now()
	prof, err := Follow(t.Context(), KindOf("park"), p.r, 500*ms, ProcessOptions{})
	took := time.Since(began)
	close(enough)
	<-done
	if err != nil {
		t.Fatal(err)
	}
	sleeps := int64(0)
	for _, s := range prof.Sample {
		if strings.Join(s.Label["reason"], "") == "sleep" {
			sleeps += s.Value[0]
		}
	}
	if sleeps == 0 || prof.DurationNanos < int64(450*ms) || prof.DurationNanos > int64(2*took) { // two clocks
		t.Errorf("got %d sleeps in %v, want some in half a second and more, of %v", sleeps, time.Duration(prof.DurationNanos), took)
	}
	if _, err := Follow(t.Context(), KindOf("park"), p.r, 0, ProcessOptions{}); err == nil {
		t.Error("no duration: got no error")
	}
	if _, err := Follow(t.Context(), KindOf("cpu"), p.r, time.Second, ProcessOptions{}); !errors.Is(err, ErrNone) {
		t.Errorf("a process that nobody asks: got %v, want %v", err, ErrNone)
	}
}

// What the settings leave out is said in the profile.
func TestWhatTheSettingsLeaveOutIsTold(t *testing.T) {
	p := start(t)
	src := p.follow(nil)
	for _, c := range []struct{ change, want string }{
		{"park.every=10", `record park in part (on, stack 64, 1 in 10)`},
		{"park.stack=off", "record no stacks of park"},
		{"mount=off", "do not record mount"},
	} {
		var err error
		eventually(t, "an answer", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			_, err = control.Ask(ctx, p.r.Process().Path, "settings", []byte("settings = default\n"+c.change+"\n"))
			return !errors.Is(err, control.ErrNone)
		})
		if err != nil {
			t.Fatal(err)
		}
		prof, err := Take(t.Context(), KindOf("park"), src, 0)
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Join(prof.Comments, "\n"); !strings.Contains(told, c.want) {
			t.Errorf("%s: got %q, want %q", c.change, told, c.want)
		}
	}
}
