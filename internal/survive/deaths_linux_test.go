package survive

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// patience bounds every wait, on a busy machine and under the race detector too.
const patience = 5 * time.Minute

// timesEach is how often each death is died.
func timesEach(t *testing.T) int {
	t.Helper()
	text := os.Getenv("VTSCOPE_DEATHS")
	if text == "" {
		return 10
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("VTSCOPE_DEATHS=%q: want a number from 1 on", text)
	}
	return n
}

// A living is a victim.
type living struct {
	t       *testing.T
	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  *bytes.Buffer // what it printed after "ready"
	stderr  *bytes.Buffer
	witness *witness
	ended   chan struct{}
	dir     string
	began   time.Time // when it was ready
}

// start starts a victim and waits until it is ready.
func start(t *testing.T, dir string, o order) *living {
	t.Helper()
	o.Witness = filepath.Join(dir, "witness")
	if err := os.RemoveAll(o.Witness); err != nil {
		t.Fatal(err)
	}
	w, err := openWitness(o.Witness)
	if err != nil {
		t.Fatal(err)
	}
	v := &living{t: t, witness: w, dir: dir, stdout: new(bytes.Buffer), stderr: new(bytes.Buffer), ended: make(chan struct{})}
	v.command = childOf(t, o, "VTSCOPE_DIR="+dir)
	v.command.Stderr = v.stderr
	if v.stdin, err = v.command.StdinPipe(); err != nil { // it ends with us
		t.Fatal(err)
	}
	out, err := v.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.command.Process.Kill() }) // when a check has failed
	ready := make([]byte, len("ready\n"))
	_, err = io.ReadFull(out, ready)
	v.began = time.Now()
	go func() {
		defer close(v.ended)
		io.Copy(v.stdout, out)
		v.command.Wait() // how it ended is in ProcessState
	}()
	if err != nil {
		<-v.ended
		t.Fatalf("victim: got %q, %v before it was ready:\n%s", ready, err, v.stderr)
	}
	return v
}

// childOf is the test binary as a child.
func childOf(t *testing.T, o order, env ...string) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(append(os.Environ(), "VTSCOPE=", asChild+"="+string(text)), env...)
	return c
}

// end waits for the victim's death and checks that it is the one that was wanted.
func (v *living) end(d death) {
	v.t.Helper()
	select {
	case <-v.ended:
	case <-time.After(patience):
		v.t.Fatalf("it still lives after %v", patience)
	}
	status := v.command.ProcessState.Sys().(syscall.WaitStatus)
	if d.sign != 0 && status.Signal() != d.sign || d.sign == 0 && status.ExitStatus() != d.code {
		v.t.Fatalf("got %v, want signal %v or exit code %d; it printed:\n%s", v.command.ProcessState, d.sign, d.code, head(v.stderr.String()))
	}
	if !regexp.MustCompile(d.says).Match(v.stderr.Bytes()) {
		v.t.Fatalf("it printed, without %s:\n%s", d.says, head(v.stderr.String()))
	}
}

func head(s string) string { return s[:min(len(s), 4000)] }

// flight opens the victim's flight file.
func (v *living) flight() *flight.Reader {
	v.t.Helper()
	files, err := filepath.Glob(filepath.Join(v.dir, strconv.Itoa(v.command.Process.Pid)+"-*.flight"))
	if err != nil || len(files) != 1 {
		v.t.Fatalf("got flight files %q, %v; want one", files, err)
	}
	r, err := flight.Open(files[0])
	if err != nil {
		v.t.Fatal(err)
	}
	r.NamesFrom(memory.Executable)
	return r
}

// forget removes what is left of a dead victim.
func (v *living) forget() {
	v.t.Helper()
	files, _ := filepath.Glob(filepath.Join(v.dir, "*.flight")) // the pattern is good
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			v.t.Fatal(err)
		}
	}
	if err := v.witness.close(); err != nil {
		v.t.Fatal(err)
	}
}

// A look is what a victim's file says of its last moments.
type look struct {
	events  uint64
	last    time.Time // of the newest event
	ticks   flight.Ticks
	counted int // threads, by the counts of events
	lost    flight.Lost
	seen
}

// lookAt reads all of a file that nobody writes any more, and checks it against what is known of the victim.
func lookAt(t *testing.T, r *flight.Reader, want flight.Status) (l look) {
	t.Helper()
	if p := r.Process(); p.Status != want {
		t.Errorf("got status %v, want %v", p.Status, want)
	}
	rings, err := r.Rings()
	if err != nil {
		t.Error(err)
	}
	for _, g := range rings {
		evs, next, _, err := r.Events(g.Index, 0, int(g.Size))
		if err != nil || next != g.Head {
			t.Errorf("ring %d: read up to %d of %d, error %v", g.Index, next, g.Head, err)
		}
		l.events += g.Head
		for i, e := range evs {
			if e.Kind == flight.EventNone || e.Kind >= flight.KindCount {
				t.Errorf("ring %d: event %d of %d has kind %d", g.Index, i, len(evs), e.Kind)
			}
			if at := r.Time(e.Time); at.After(l.last) && e.Kind != flight.EventMore {
				l.last, l.ticks = at, e.Time
			}
		}
	}
	if l.seen, err = seeWaiters(r); err != nil {
		t.Error(err)
	}
	l.lost = r.Lost()
	l.counted = r.Process().Threads
	if want == flight.StatusGone {
		checkNames(t, r)
	}
	return l
}

// checkNames checks that each frame of each thread has a name: of those that the process did not write, the executable has them.
func checkNames(t *testing.T, r *flight.Reader) {
	t.Helper()
	stacks := map[flight.StackID]bool{}
	_, err := r.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, row := range rows {
			if stacks[row.Stack] || row.Torn {
				continue
			}
			stacks[row.Stack] = true
			if s, err := r.Stack(row.Stack); err != nil || s.Unsymbolised != 0 {
				t.Errorf("thread %d: %d frames of its stack have no name, error %v: %+v", row.ID, s.Unsymbolised, err, s.Frames)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// check compares what a file says with what the witness saw.
func (l look) check(t *testing.T, w *witness, others, panicked int, now time.Time) {
	t.Helper()
	if !l.complete() || l.others != others || l.torn != 0 {
		t.Errorf("got threads %+v, want %d waiting in each way, %d others", l.seen, waitersOfEach, others)
	}
	if at := w.recorded(); l.ticks < at {
		t.Errorf("the last event is %v older than the last wake-up but one of a pair of threads", at.Sub(l.ticks))
	}
	if late := l.last.Sub(now); late > time.Millisecond {
		t.Errorf("the last event is of %v after the process was gone", late)
	}
	if want := 3*waitersOfEach + others; l.counted != want {
		t.Errorf("the events have %d threads started and not ended, want the %d of the table", l.counted, want)
	}
	if l.panicked != panicked {
		t.Errorf("the table has %d threads with reason panic, want %d", l.panicked, panicked)
	}
	if l.lost.Any() {
		t.Errorf("lost: %+v", l.lost)
	}
	if l.events < w.rounds() {
		t.Errorf("got %d events of %d wake-ups, want one for each at least", l.events, w.rounds())
	}
}

// A tally is what the deaths of a kind have in common.
type tally struct {
	cases int
	half  int             // records half written
	ages  []time.Duration // of the last event, at the last work
	wrong []time.Duration // what the file's clock says of the last work, less its time
	rates []float64       // wake-ups in a microsecond
}

func (s *tally) add(l look, r *flight.Reader, w *witness, began time.Time) {
	s.cases++
	s.half += l.half
	s.ages = append(s.ages, w.last().Sub(l.last))
	s.wrong = append(s.wrong, r.Time(w.lastTicks()).Sub(w.last()).Abs())
	s.rates = append(s.rates, float64(w.rounds())/float64(w.last().Sub(began).Microseconds()))
}

func (s *tally) report(t *testing.T, want int) {
	t.Helper()
	if s.cases != want {
		t.Errorf("%d cases were checked, want %d", s.cases, want)
	}
	slices.Sort(s.ages)
	slices.Sort(s.wrong)
	slices.Sort(s.rates)
	if s.cases > 0 {
		t.Logf("%d cases; last event older than the last work by %v in the median, %v at most; clock wrong by %v, %v; %.2f wake-ups/µs in the median; %d records half written",
			s.cases, s.ages[s.cases/2], s.ages[s.cases-1], s.wrong[s.cases/2], s.wrong[s.cases-1], s.rates[s.cases/2], s.half)
	}
}

func TestTheFileOfAProcessThatDiesHasItsLastMoments(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for name, d := range deaths {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			if d.grouped {
				memoryGroup(t) // or skip all
			}
			if d.limited {
				skipUnderRaceDetector(t)
			}
			random := rand.New(rand.NewPCG(seed, 0))
			var s tally
			n := timesEach(t)
			for i := range n {
				t.Run(fmt.Sprint(i), func(t *testing.T) { dieOnce(t, name, d, 2000+random.Uint64N(30_000), &s) })
				if t.Failed() {
					break
				}
			}
			s.report(t, n)
		})
	}
}

// dieOnce lets a victim die after so many wake-ups and looks at what it leaves.
func dieOnce(t *testing.T, name string, d death, rounds uint64, s *tally) {
	o := order{Rounds: rounds}
	if d.die != nil {
		o.Death = name
	}
	if d.grouped {
		o.Group = memoryGroup(t)
	}
	v := start(t, flighttest.Dir(t), o)
	if d.die == nil {
		if !v.witness.until(rounds, v.ended) {
			t.Fatalf("it ended by itself:\n%s", head(v.stderr.String()))
		}
		if err := v.command.Process.Signal(d.sign); err != nil {
			t.Fatal(err)
		}
	}
	v.end(d)
	now := time.Now()
	r := v.flight()
	defer r.Close()
	l := lookAt(t, r, flight.StatusGone)
	if d.limited { // a carrier that comes when there is no room any more has no ring
		l.lost.Rings = 0
	}
	l.check(t, v.witness, 2*pairs()+d.more, d.panicked, now)
	s.add(l, r, v.witness, v.began)
	v.forget()
}

func TestTheFileOfAStoppedProcessHasItsLastMoments(t *testing.T) {
	v := start(t, flighttest.Dir(t), order{})
	r := v.flight()
	defer r.Close()
	var s tally
	n := timesEach(t)
	for range n {
		from := v.witness.rounds()
		if !v.witness.until(from+2000+rand.Uint64N(10_000), v.ended) {
			t.Fatalf("it ended by itself:\n%s", head(v.stderr.String()))
		}
		if err := v.command.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); r.Process().Status != flight.StatusStopped; {
			if time.Since(began) > patience {
				t.Fatalf("got status %v, want stopped", r.Process().Status)
			}
		}
		l := lookAt(t, r, flight.StatusStopped)
		l.check(t, v.witness, 2*pairs(), 0, time.Now())
		s.add(l, r, v.witness, v.began)
		if err := v.command.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			break
		}
	}
	s.report(t, n)
	if err := v.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	v.end(deaths["killed"])
	v.forget()
}
