package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/source"
	"github.com/vtscope/vtscope/dump/stream"
	"github.com/vtscope/vtscope/internal/buildinfo"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A world is what a call of vtdump can touch besides flight files.
type world struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool                         // stdout is one
	watched        bool                         // stderr is one
	screen         func() (tcell.Screen, error) // for top; nil: there is no terminal
	size           func() (columns, rows int)   // of the terminal; 0: not known
	getenv         func(string) string
	now            func() time.Time
	replace        func(path string, args []string) error // has another program go on in the place of this one
}

// run is vtdump: it returns the exit code.
func run(ctx context.Context, args []string, w world) int {
	s, err := parse(args)
	if err == nil {
		if s.command != commandTop && s.again == 0 {
			w.stdout = s.clean(w, w.stdout)
		}
		err = s.withProgress(w, func(w world) error {
			w.stderr = dump.CleanText(w.stderr, false)
			return s.do(ctx, w)
		})
	}
	if err != nil {
		return report(w.stderr, err)
	}
	return exitDone
}

// clean returns a writer to an output that is a text for people or a JSON document: neither has a
// character that would change a terminal, whatever the names of a process are, or the answer of an
// agent.
func (s *settings) clean(w world, to io.Writer) io.Writer {
	switch {
	case s.format == "pprof", s.command == commandExport, s.command == commandOpen && s.incident.part != "":
		return to // of a bundle a part may be of any kind
	case slices.Contains([]string{"json", "jdk", "jdk1"}, s.format):
		return dump.EscapeJSON(to)
	}
	return dump.CleanText(to, s.colored(w))
}

func (s *settings) do(ctx context.Context, w world) error {
	if s.marks.file != "" && s.command != commandMark {
		if err := s.readMarks(false); err != nil {
			return err
		}
	}
	switch {
	case s.help || s.command == commandHelp && !s.version:
		return s.explain(w)
	case s.version:
		return written(io.WriteString(w.stdout, versionText()))
	case s.again > 0 && s.again < leastInterval(s.target):
		return usageError{fmt.Sprintf("--watch=%s: each profile costs the program", dump.Span(s.again)), "--watch=" + dump.Span(leastInterval(s.target)) + ", or more"}
	case s.again > 0:
		return s.repeat(ctx, w)
	case s.command == commandMark:
		return s.mark(ctx, w)
	case s.command == commandCompletion:
		return s.completion(ctx, w)
	case s.command == commandManual:
		return manual(w)
	case s.command == commandDap:
		return s.debug(w)
	case s.command == commandList:
		return list(w, s)
	case stream.Is(s.target) && s.command != commandDurable:
		return s.anotherOfStream()
	case s.command != commandDiff && isRemote(s.target):
		return s.overNetwork(ctx, w)
	case isPprof(s.target) && s.command&ofPprof == 0:
		return s.notOfTraces()
	case s.command == commandExport:
		return s.export(ctx, w)
	case s.command == commandEvents && !s.targeted:
		return s.catalogue(w)
	case s.command == commandEvents:
		return s.printEvents(ctx, w)
	case s.command == commandReplay, s.command == commandThreads && (isRecording(s.target) || s.at != "" && isBundle(s.target)):
		return s.replay(ctx, w)
	case s.command == commandProfile:
		return s.profile(ctx, w)
	case s.command == commandDiff:
		return s.diff(ctx, w)
	case s.command == commandDurable:
		return s.durables(ctx, w)
	case isRecording(s.target):
		return hint{fmt.Errorf("%s: a recording tells what its threads did; %s needs something else", s.target, formOf(s.command).word),
			"vtdump replay " + s.target + ", or vtdump events " + s.target}
	case s.at != "":
		return hint{fmt.Errorf("--at: %s is no recording", s.target), "vtdump record " + s.target + " first"}
	case s.command == commandOpen || isBundle(s.target):
		return s.bundle(w)
	case s.command == commandThreads && isTraces(s.target):
		return s.traces(ctx, w)
	case s.command != commandMark && s.command != commandOpen && isTraces(s.target):
		if done, err := s.withTraces(ctx, w); done {
			return err
		}
	case isDump(s.target):
		return s.dumpFile(w)
	}
	if done, err := s.fromMemory(ctx, w); done {
		return err
	}
	r, err := open(s.call(), s.target, w.now())
	if err != nil {
		return s.withoutFile(ctx, w, err)
	}
	var src source.Source = r
	defer func() { src.Close() }()
	switch s.command {
	case commandScheduler:
		return s.schedulers(ctx, w, r)
	case commandSettings:
		return s.recorded(ctx, w, r)
	case commandIncident:
		return s.takeIncident(ctx, w, r)
	case commandWatch:
		return s.watch(ctx, w, r)
	case commandRecord:
		return s.record(ctx, w, r)
	case commandThreads:
		if src = s.orGoroutines(ctx, w, r); src == source.Source(r) {
			src = s.withGoroutines(ctx, w, r)
		}
	default:
		src = s.withGoroutines(ctx, w, r)
	}
	return s.report(ctx, w, src)
}

// report prints the report of the command that every process has, with a recorder or without.
func (s *settings) report(ctx context.Context, w world, src dump.Source) error {
	switch s.command {
	case commandWaits:
		return s.waits(ctx, w, src)
	case commandFindings:
		return s.findings(ctx, w, src)
	case commandCheck:
		return s.checkLimits(ctx, w, src)
	case commandTop:
		return s.live(ctx, w, src)
	}
	return s.threads(ctx, w, src)
}

// schedulers prints the schedulers of a process.
func (s *settings) schedulers(ctx context.Context, w world, r *flight.Reader) error {
	all, err := dump.TakeSchedulers(ctx, r)
	if err != nil {
		return fmt.Errorf("%s: %w", s.target, err)
	}
	if s.format == "json" {
		if s.top > 0 {
			all.KeepTop(s.top)
		}
		return written(0, dump.SchedulersJSON(w.stdout, all))
	}
	return written(0, dump.SchedulersText(w.stdout, all, s.textOptions(w)))
}

// waits prints who waits for whom, and returns errFound if there is a deadlock.
func (s *settings) waits(ctx context.Context, w world, r dump.Source) error {
	take := func() (*dump.Waits, error) { return dump.TakeWaits(ctx, r) }
	if !s.filter.Empty() {
		take = func() (*dump.Waits, error) { return dump.TakeWaitsOf(ctx, r, "", s.takeOptions()) }
	}
	all, err := take()
	if err != nil {
		return fmt.Errorf("%s: %w", s.target, err)
	}
	return s.printWaits(w, all)
}

// printWaits returns errFound if there is a deadlock.
func (s *settings) printWaits(w world, all *dump.Waits) (err error) {
	if s.format == "json" {
		if s.top > 0 {
			all.KeepTop(s.top)
		}
		err = dump.WaitsJSON(w.stdout, all)
	} else {
		err = dump.WaitsText(w.stdout, all, s.textOptions(w))
	}
	if err := written(0, err); err != nil {
		return err
	}
	if len(all.Deadlocks) > 0 {
		return errFound
	}
	return nil
}

// usualGrowth is how far apart the two looks of findings are by default.
const usualGrowth = 2 * time.Second

// findings prints what the checks find, and returns errFound if they find anything.
func (s *settings) findings(ctx context.Context, w world, r dump.Source) error {
	now, err := dump.TakeLook(ctx, r)
	if err != nil {
		return fmt.Errorf("%s: %w", s.target, err)
	}
	var before *dump.Look
	if status := now.Snapshot.Process.Status; status == dump.StatusRunning {
		before = now
		if err = pause(ctx, cmp.Or(s.growth, usualGrowth)); err == nil {
			now, err = dump.LookOptions{Since: before}.Take(ctx, r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.target, err)
		}
	} else if s.growth > 0 {
		return refuseGrowth(status)
	}
	f, err := dump.Check(now, before, s.checks.CheckOptions)
	if err != nil {
		return err
	}
	if s.format == "json" {
		err = dump.FindingsJSON(w.stdout, f)
	} else {
		err = dump.FindingsText(w.stdout, f, s.textOptions(w))
	}
	if err := written(0, err); err != nil {
		return err
	}
	if len(f.Findings) > 0 {
		return errFound
	}
	return nil
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func refuseGrowth(status dump.Status) error {
	return hint{fmt.Errorf("--growth: the process is %s", status), "without --growth"}
}

// threads prints the threads of a process.
func (s *settings) threads(ctx context.Context, w world, r dump.Source) error {
	if done, err := s.one(ctx, w, r); done {
		return err
	}
	if done, err := s.listed(ctx, w, r); done {
		return err
	}
	if len(s.by) > 0 {
		return s.table(ctx, w, r)
	}
	snap, err := dump.Take(ctx, r, s.takeOptions())
	if err != nil {
		return fmt.Errorf("%s: %w", s.target, err)
	}
	if s.growth > 0 {
		if snap, err = s.second(ctx, r, snap); err != nil {
			return fmt.Errorf("%s: %w", s.target, err)
		}
	}
	return s.print(w, snap)
}

// second takes another snapshot and compares it with the first.
func (s *settings) second(ctx context.Context, r dump.Source, first *dump.Snapshot) (*dump.Snapshot, error) {
	if status := first.Process.Status; status != dump.StatusRunning {
		return nil, refuseGrowth(status)
	}
	if err := pause(ctx, s.growth); err != nil {
		return nil, err
	}
	snap, err := dump.Take(ctx, r, s.takeOptions())
	if err != nil {
		return nil, err
	}
	dump.Compare(first, snap)
	return snap, nil
}

func (s *settings) print(w world, snap *dump.Snapshot) error {
	s.marks.known.Apply(snap)
	if s.top > 0 && s.format != "text" {
		snap.KeepTop(s.top)
	}
	if done, err := s.fromGroups(w, snap); done {
		return err
	}
	switch s.format {
	case "json":
		return written(0, dump.JSON(w.stdout, snap))
	case "folded":
		return written(0, dump.Folded(w.stdout, snap, dump.FoldedOptions{Internal: s.internal}))
	}
	return written(0, dump.Text(w.stdout, snap, s.textOptions(w)))
}

func (s *settings) takeOptions() dump.Options {
	return dump.Options{Filter: s.filter, Similar: s.similar, Templates: s.templates}
}

// table prints the threads of a source, grouped as --by says.
func (s *settings) table(ctx context.Context, w world, r dump.Source) error {
	t, err := dump.TakeTable(ctx, r, s.by, s.takeOptions())
	if err != nil {
		return fmt.Errorf("%s: %w", s.target, err)
	}
	if s.format == "json" {
		if s.top > 0 {
			t.KeepTop(s.top)
		}
		return written(0, dump.TableJSON(w.stdout, t))
	}
	return written(0, dump.TableText(w.stdout, t, s.textOptions(w)))
}

func (s *settings) textOptions(w world) dump.TextOptions {
	return dump.TextOptions{
		Top: orDefault(s.top), Depth: orDefault(s.depth), Internal: s.internal, Used: s.spent,
		ASCII: s.ascii, Color: s.colored(w), Width: s.width,
	}
}

// orDefault turns the number of a flag into that of package dump: 0 means all here and the default there.
func orDefault(n int) int {
	switch n {
	case unset:
		return 0
	case 0:
		return -1
	}
	return n
}

func (s *settings) colored(w world) bool {
	if s.color != "auto" {
		return s.color == "always"
	}
	return w.terminal && w.getenv("NO_COLOR") == "" && w.getenv("TERM") != "dumb"
}

func written(_ int, err error) error {
	if err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}

func versionText() string {
	return fmt.Sprintf("%s\nreads flight format %d, writes %s, %s, %s, %s and %s\n", buildinfo.Line("vtdump"),
		flight.FormatVersion, dump.Format, dump.SchedulersFormat, dump.WaitsFormat, dump.FindingsFormat, dump.SettingsFormat)
}
