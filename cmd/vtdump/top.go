package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A tab is a list of top.
type tab int

const (
	tabGroups tab = iota
	tabScopes
	tabFindings

	tabCount
)

var tabNames = [tabCount]string{"groups", "scopes", "findings"}

// A key is a row of the table of keys, from which help derives.
type key struct {
	names string
	about string
}

var topKeys = []key{
	{"j k, arrows", "down and up; g and G: first and last"},
	{"Enter", "all of this group, scope or finding; Esc goes back"},
	{"Tab, 1 2 3", "groups, scopes, findings"},
	{"/", "a filter, such as state=parked wait>30s; empty for all"},
	{"space", "stop the picture, and let it go on"},
	{"?", "this help"},
	{"q, Ctrl-C", "quit"},
}

// A topLook is what top shows of a process at a moment.
type topLook struct {
	snap     *dump.Snapshot
	figures  topFigures
	findings *dump.Findings
	err      error
}

// live shows the process on the terminal until the user quits.
func (s *settings) live(ctx context.Context, w world, r dump.Source) error {
	if w.screen == nil {
		return hint{errors.New("top needs a terminal"), "vtdump " + s.target + ", or ssh -t"}
	}
	screen, err := w.screen()
	if err != nil {
		return hint{fmt.Errorf("terminal: %w", err), "vtdump " + s.target + " --watch; or set TERM, as to xterm"}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	one := new(sync.Mutex) // memory is read by one goroutine at a time
	t := &top{s: s, screen: screen, group: func(key string, o dump.Options) (*dump.GroupReport, error) {
		one.Lock()
		defer one.Unlock()
		return dump.TakeGroup(ctx, r, key, o)
	}}
	return t.run(ctx, newSampler(s, r, one))
}

// A top is the state of the screen. All of it belongs to the goroutine of run.
type top struct {
	s      *settings
	screen tcell.Screen
	group  func(key string, o dump.Options) (*dump.GroupReport, error)

	now    topLook
	paused bool
	help   bool
	tab    tab
	at     [tabCount]int // the row that is chosen
	from   [tabCount]int // the first row on the screen

	page     []string // of what was entered; nil: the list is shown
	pageFrom int

	asking bool   // for a filter
	answer []rune // so far
	wrong  *filter.Error
	filter *filter.Filter
}

// A topUpdate is an event that brings a look.
type topUpdate struct {
	tcell.EventTime
	look topLook
}

// run shows looks and obeys keys until the user quits or ctx ends. The terminal is what it was before when it returns, or panics.
func (t *top) run(ctx context.Context, sampler *sampler) error {
	if err := t.screen.Init(); err != nil {
		return hint{fmt.Errorf("terminal: %w", err), "vtdump " + t.s.target + " --watch; or set TERM, as to xterm"}
	}
	t.filter = t.s.filter
	asked := make(chan *filter.Filter, 1)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var crash any
	go func() {
		defer close(done)
		defer func() {
			if x := recover(); x != nil {
				crash = fmt.Sprintf("%v\n%s", x, debug.Stack()) // seen where the terminal is as it was
			}
			for t.screen.PostEvent(tcell.NewEventInterrupt(nil)) != nil && ctx.Err() == nil {
				_ = pause(ctx, 10*time.Millisecond) // until there is room
			}
		}()
		sampler.run(ctx, asked, t.filter, func(l topLook) { _ = t.screen.PostEvent(&topUpdate{look: l}) }) // a full queue loses a look
	}()
	defer func() {
		cancel()
		t.screen.Fini() // also while a panic passes
		<-done
		if crash != nil {
			panic(crash)
		}
	}()
	for {
		t.draw()
		switch ev := t.screen.PollEvent().(type) {
		case nil:
			return nil // the screen is gone
		case *tcell.EventInterrupt:
			return nil
		case *tcell.EventResize:
			t.screen.Sync()
		case *topUpdate:
			if !t.paused {
				t.now = ev.look
			}
		case *tcell.EventKey:
			quit, filtered := t.obey(ev)
			if quit {
				return nil
			}
			if filtered {
				select {
				case <-asked: // nobody has seen the one before
				default:
				}
				asked <- t.filter
			}
		}
	}
}

// obey does what a key says. It reports whether the user quits, and whether the filter is another.
func (t *top) obey(ev *tcell.EventKey) (quit, filtered bool) {
	if ev.Key() == tcell.KeyCtrlC {
		return true, false
	}
	if t.asking {
		return false, t.ask(ev)
	}
	switch {
	case t.help:
		t.help = false
		return ev.Rune() == 'q', false
	case ev.Rune() == 'q':
		return true, false
	case ev.Key() == tcell.KeyEscape, ev.Key() == tcell.KeyLeft, ev.Key() == tcell.KeyBackspace, ev.Key() == tcell.KeyBackspace2:
		t.page = nil
	case ev.Key() == tcell.KeyEnter, ev.Key() == tcell.KeyRight:
		if t.page == nil {
			return false, t.enter()
		}
	case ev.Key() == tcell.KeyDown, ev.Rune() == 'j':
		t.move(1)
	case ev.Key() == tcell.KeyUp, ev.Rune() == 'k':
		t.move(-1)
	case ev.Key() == tcell.KeyPgDn:
		t.move(t.room())
	case ev.Key() == tcell.KeyPgUp:
		t.move(-t.room())
	case ev.Key() == tcell.KeyHome, ev.Rune() == 'g':
		t.move(-1 << 30)
	case ev.Key() == tcell.KeyEnd, ev.Rune() == 'G':
		t.move(1 << 30)
	case ev.Key() == tcell.KeyTab:
		t.tab, t.page = (t.tab+1)%tabCount, nil
	case ev.Rune() >= '1' && ev.Rune() < '1'+rune(tabCount):
		t.tab, t.page = tab(ev.Rune()-'1'), nil
	case ev.Rune() == ' ':
		t.paused = !t.paused
	case ev.Rune() == '?':
		t.help = true
	case ev.Rune() == '/':
		t.asking, t.answer, t.wrong = true, []rune(t.filter.String()), nil
	}
	return false, false
}

// ask takes a key of the answer. It reports whether the filter is another.
func (t *top) ask(ev *tcell.EventKey) (filtered bool) {
	switch {
	case ev.Key() == tcell.KeyEscape:
		t.asking = false
	case ev.Key() == tcell.KeyEnter:
		f, err := filter.Parse(string(t.answer))
		if err != nil {
			errors.As(err, &t.wrong)
			return false
		}
		t.asking, t.filter = false, f
		return true
	case ev.Key() == tcell.KeyBackspace, ev.Key() == tcell.KeyBackspace2:
		if len(t.answer) > 0 {
			t.answer = t.answer[:len(t.answer)-1]
		}
	case ev.Key() == tcell.KeyCtrlU:
		t.answer = nil
	case ev.Key() == tcell.KeyRune:
		t.answer = append(t.answer, ev.Rune())
	}
	t.wrong = nil
	if _, err := filter.Parse(string(t.answer)); err != nil && ev.Key() == tcell.KeyRune {
		errors.As(err, &t.wrong) // seen while it is written
	}
	return false
}

// move chooses another row, or turns the page.
func (t *top) move(by int) {
	if t.page != nil {
		t.pageFrom = min(max(t.pageFrom+by, 0), max(len(t.page)-t.room(), 0))
		return
	}
	t.at[t.tab] = min(max(t.at[t.tab]+by, 0), max(t.count()-1, 0))
}

// count returns how many rows the list has.
func (t *top) count() int {
	switch s := t.now.snap; {
	case s == nil:
		return 0
	case t.tab == tabGroups:
		return len(s.Groups)
	case t.tab == tabScopes:
		return len(s.Scopes)
	case t.now.findings != nil:
		return len(t.now.findings.Findings)
	}
	return 0
}

// enter opens the row that is chosen: of a group all that its threads have in common, of a scope its groups. It reports whether the filter is another.
func (t *top) enter() (filtered bool) {
	at := t.at[t.tab]
	if at >= t.count() {
		return false
	}
	width, _ := t.screen.Size()
	o := t.s.textOptions(world{})
	o.Color, o.Width = false, max(width, 40)
	var b bytes.Buffer
	switch t.tab {
	case tabGroups:
		key := t.now.snap.Groups[at].Key
		g, err := t.group(key, dump.Options{Filter: t.filter, Similar: t.s.similar, Templates: t.now.snap.Templates})
		if err != nil { // its threads have moved on
			if g, err = dump.GroupOf(t.now.snap, key); err != nil {
				return false
			}
		}
		_ = dump.GroupText(&b, g, o) // of a Buffer
	case tabScopes:
		f, err := filter.InScope(dump.ScopeName(t.now.snap.Path(at)))
		if err != nil {
			return false
		}
		if f, err = filter.All(f, t.s.filter); err != nil {
			return false
		}
		t.filter, t.tab, t.at[tabGroups] = f, tabGroups, 0
		return true
	case tabFindings:
		one := *t.now.findings
		one.Findings = one.Findings[at : at+1]
		_ = dump.FindingsText(&b, &one, o) // of a Buffer
	}
	t.page, t.pageFrom = strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n"), 0
	return false
}

// A sampler looks at a process again and again.
type sampler struct {
	every    time.Duration
	take     func(ctx context.Context, f *filter.Filter) (*dump.Snapshot, error)
	figures  func() (topFigures, error)
	findings func(ctx context.Context) (*dump.Findings, error)
}

// findingsEvery is how many looks share one look for findings, which reads more.
const findingsEvery = 5

// newSampler looks at a process in its file or its memory, while it holds one.
func newSampler(s *settings, src dump.Source, one sync.Locker) *sampler {
	var before *dump.Look
	return &sampler{
		every: cmp.Or(s.every, usualInterval),
		take: func(ctx context.Context, f *filter.Filter) (*dump.Snapshot, error) {
			o := s.takeOptions()
			o.Filter = f
			one.Lock()
			defer one.Unlock()
			return dump.Take(ctx, src, o)
		},
		figures: func() (topFigures, error) { return figuresOf(dump.FlightReader(src)) },
		findings: func(ctx context.Context) (*dump.Findings, error) {
			one.Lock()
			defer one.Unlock()
			now, err := dump.TakeLook(ctx, src)
			if err != nil {
				return nil, err
			}
			f, err := dump.Check(now, before, s.checks.CheckOptions)
			before = now
			return f, err
		},
	}
}

// run gives looks to see until ctx ends: at once, every so often, and when another filter is asked for.
func (p *sampler) run(ctx context.Context, asked <-chan *filter.Filter, f *filter.Filter, see func(topLook)) {
	var before *dump.Snapshot
	var last topFigures
	var findings *dump.Findings
	for n := 0; ; n++ {
		var l topLook
		l.snap, l.err = p.take(ctx, f)
		if l.err == nil {
			if before != nil && before.Filter == l.snap.Filter {
				dump.Compare(before, l.snap)
			}
			before = l.snap
			if l.figures, l.err = p.figures(); l.err == nil {
				l.figures.since(&last)
				last = l.figures
			}
		}
		if l.err == nil && n%findingsEvery == 0 {
			findings, l.err = p.findings(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		l.findings = findings
		see(l)
		timer := time.NewTimer(p.every)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case f = <-asked:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// topFigures are the sums of what schedulers tell.
type topFigures struct {
	carriers, running, held, queued uint64
	starts, switches, pins          uint64
	told                            time.Time

	rated                          bool    // the rates are known
	startRate, switchRate, pinRate float64 // a second
}

// figuresOf reads them; r is nil where there is no recorder.
func figuresOf(r *flight.Reader) (f topFigures, err error) {
	if r == nil {
		return f, nil
	}
	rows, err := r.Schedulers()
	if err != nil && !errors.Is(err, flight.ErrIncomplete) {
		return f, err
	}
	for i := range rows {
		g := &rows[i].Figures
		f.carriers += g[flight.FigureCarriers]
		f.running += g[flight.FigureRunning]
		f.held += g[flight.FigureHeld]
		f.queued += g[flight.FigureQueued]
		f.starts += g[flight.FigureStarts]
		f.switches += g[flight.FigureSwitches]
		f.pins += g[flight.FigurePins]
		if at := r.Time(rows[i].Written); rows[i].Written != 0 && at.After(f.told) {
			f.told = at
		}
	}
	return f, nil
}

// since computes the rates. Schedulers tell about every second: until they have told again, rates stay.
func (f *topFigures) since(last *topFigures) {
	over := f.told.Sub(last.told).Seconds()
	if last.told.IsZero() || over <= 0 {
		f.rated, f.startRate, f.switchRate, f.pinRate = last.rated, last.startRate, last.switchRate, last.pinRate
		return
	}
	rate := func(now, before uint64) float64 { return float64(now-min(now, before)) / over }
	f.rated = true
	f.startRate, f.switchRate, f.pinRate = rate(f.starts, last.starts), rate(f.switches, last.switches), rate(f.pins, last.pins)
}
