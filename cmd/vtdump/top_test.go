package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A stage is top at work on a screen in memory.
type stage struct {
	t      *testing.T
	screen *shownScreen
	done   chan error
	stop   context.CancelFunc
}

// perform starts top with a flight file.
func perform(t *testing.T, path string, args ...string) *stage {
	t.Helper()
	s, err := parse(append([]string{"top", path, "--every", "5ms"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	r, err := flight.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	g := &stage{t: t, screen: &shownScreen{SimulationScreen: tcell.NewSimulationScreen("UTF-8")}, done: make(chan error, 1), stop: stop}
	w := world{screen: func() (tcell.Screen, error) { return g.screen, nil }, getenv: func(string) string { return "" }, now: time.Now}
	go func() {
		err := s.live(ctx, w, r)
		if closed := r.Close(); err == nil {
			err = closed
		}
		g.done <- err
	}()
	t.Cleanup(func() {
		stop()
		g.ends()
	})
	g.sees(" in 3 scopes") // it has begun
	g.resize(100, 24)
	return g
}

// resize gives the window another size.
func (g *stage) resize(width, height int) {
	g.screen.SetSize(width, height)
	_ = g.screen.PostEvent(tcell.NewEventResize(width, height)) // the next look draws anew all the same
}

// ends waits until top has ended.
func (g *stage) ends() {
	g.t.Helper()
	select {
	case err := <-g.done:
		if err != nil {
			g.t.Errorf("top: %v", err)
		}
		g.done <- nil
	case <-time.After(time.Minute):
		g.t.Fatal("top does not end")
	}
}

// A shownScreen keeps what was shown: what it has in memory is top's.
type shownScreen struct {
	tcell.SimulationScreen
	mu struct {
		sync.Mutex
		rows []string
	}
}

func (s *shownScreen) Show() {
	s.SimulationScreen.Show()
	cells, width, height := s.GetContents()
	rows := make([]string, 0, height)
	for y := range height {
		var b strings.Builder
		for x := range width {
			for _, r := range cells[y*width+x].Runes {
				b.WriteRune(r)
			}
		}
		rows = append(rows, strings.TrimRight(b.String(), " \x00"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.rows = rows
}

// rows returns what the screen shows.
func (g *stage) rows() []string {
	g.screen.mu.Lock()
	defer g.screen.mu.Unlock()
	return g.screen.mu.rows
}

// sees waits until the screen shows all of the texts.
func (g *stage) sees(wanted ...string) string {
	g.t.Helper()
	var all, missing string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		all, missing = strings.Join(g.rows(), "\n"), ""
		for _, want := range wanted {
			if !strings.Contains(all, want) {
				missing = want
			}
		}
		if missing == "" {
			return all
		}
	}
	g.t.Fatalf("want %q on the screen:\n%s", missing, all)
	return ""
}

func (g *stage) key(k tcell.Key) { g.screen.InjectKey(k, 0, tcell.ModNone) }
func (g *stage) types(s string) {
	for _, r := range s {
		g.screen.InjectKey(tcell.KeyRune, r, tcell.ModNone)
	}
}

func TestTopShowsGroupsScopesAndFindings(t *testing.T) {
	g := perform(t, recorded(t).Path)
	g.sees("1,000 threads in 3 scopes", "mounted 1  timed-parked 999", "no scheduler has told figures", "1 groups   2 scopes   3 findings",
		"999            timed-parked", "shop/requests", "shop.(*Store).query", "1            mounted", "q quit")
	g.types("2")
	g.sees("1,000         1", "    requests")
	g.key(tcell.KeyTab)
	g.sees("no findings")
	g.types("1?")
	g.sees("j k, arrows", "any key: back")
	g.types("xjk")
	g.key(tcell.KeyEnter)
	g.sees("group ", "999 threads, 1 other", "called      999  GET /cart/*", "Esc back", "line 1 of ")
	g.types("G")
	g.sees("/src/serve.go:12")
	g.key(tcell.KeyEscape)
	g.sees("999            timed-parked")
	g.types("q")
	g.ends()
}

func TestTopAsksForAFilterAndPointsAtWhatIsWrong(t *testing.T) {
	g := perform(t, recorded(t).Path)
	g.sees("1,000 threads")
	g.types("/state=parkd")
	all := g.sees("filter: state=parkd", `state is never "parkd"`)
	if !strings.Contains(all, "\n              ^^^^^ ") {
		t.Errorf("it does not point at the word:\n%s", all)
	}
	g.key(tcell.KeyEnter) // which does not take it
	g.sees("filter: state=parkd", "1,000 threads")
	for range "parkd" {
		g.key(tcell.KeyBackspace2)
	}
	g.types("mounted")
	g.key(tcell.KeyEnter)
	g.sees("only state=mounted", "1 thread in 3 scopes")
	g.types("/")
	g.key(tcell.KeyCtrlU)
	g.types("id=4711")
	g.key(tcell.KeyEnter)
	g.sees("no threads match")
	g.types("/x")
	g.key(tcell.KeyEscape)
	g.sees("only id=4711")
	g.types("/")
	g.key(tcell.KeyCtrlU)
	g.key(tcell.KeyEnter)
	g.sees("1,000 threads in 3 scopes")
	g.types("2Gj")
	g.key(tcell.KeyEnter) // of the last scope its groups
	g.sees(`only scope~"(^|/)root/shop/requests(/|$)"`, "999 threads in 3 scopes", "1 groups")
	g.key(tcell.KeyCtrlC)
	g.ends()
}

func TestTopStopsThePictureAndFollowsTheSizeOfTheWindow(t *testing.T) {
	g := perform(t, recorded(t).Path, "--ascii")
	g.sees("1,000 threads")
	g.types(" ")
	g.sees(" stopped")
	g.resize(60, 9)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if rows := g.rows(); len(rows) == 9 && strings.HasPrefix(rows[8], "? keys") && strings.HasPrefix(rows[5], "        999            timed-parked") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %q", g.rows())
		}
	}
	for _, row := range g.rows() {
		if row != dump.ASCII(row) {
			t.Errorf("got %q", row)
		}
	}
	g.types(" ")
	for deadline := time.Now().Add(time.Minute); strings.Contains(strings.Join(g.rows(), "\n"), " stopped"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not go on")
		}
	}
	g.stop() // as a signal does
	g.ends()
}

// A finished screen tells that it was given back.
type finished struct {
	tcell.SimulationScreen
	n int
}

func (f *finished) Fini() {
	f.n++
	f.SimulationScreen.Fini()
}

func TestAPanicLeavesTheTerminalAsItWas(t *testing.T) {
	screen := &finished{SimulationScreen: tcell.NewSimulationScreen("UTF-8")}
	s := settings{target: "4711"}
	sampler := &sampler{every: time.Hour, take: func(context.Context, *filter.Filter) (*dump.Snapshot, error) { panic("of the sampler") }}
	defer func() {
		if x, _ := recover().(string); !strings.HasPrefix(x, "of the sampler\n") || !strings.Contains(x, "top_test.go") || screen.n == 0 {
			t.Errorf("got %q, finished %d times", x, screen.n)
		}
	}()
	err := (&top{s: &s, screen: screen}).run(t.Context(), sampler)
	t.Errorf("it has returned %v", err)
}

func TestTopNeedsATerminal(t *testing.T) {
	fails(t, exitFailed, "top needs a terminal\n    try: vtdump ", "top", recorded(t).Path)
	fails(t, exitUsage, "--depth means nothing to top", "top", "4711", "--depth", "3")
}

func TestRatesAreOfTheTimeBetweenTwoTellings(t *testing.T) {
	at := time.Now()
	a := topFigures{told: at, switches: 100, starts: 5}
	a.since(&topFigures{})
	if a.rated {
		t.Error("there is nothing to compare with")
	}
	b := topFigures{told: at.Add(2 * time.Second), switches: 300, starts: 4}
	b.since(&a)
	if !b.rated || b.switchRate != 100 || b.startRate != 0 {
		t.Errorf("got %+v", b)
	}
	c := topFigures{told: b.told, switches: 300}
	c.since(&b)
	if !c.rated || c.switchRate != 100 {
		t.Errorf("before they tell again: got %+v", c)
	}
}
