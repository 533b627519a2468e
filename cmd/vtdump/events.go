package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// catalogueFormat names the JSON document of the kinds of events.
const catalogueFormat = "vtscope/events/v1"

// eventStatsFormat names the JSON document of how many events there were.
const eventStatsFormat = "vtscope/event-stats/v1"

// A catalogueDoc describes the kinds of events.
type catalogueDoc struct {
	Format string    `json:"format"` // always [catalogueFormat]
	Kinds  []kindDoc `json:"kinds"`
}

// An eventStatsDoc counts events.
type eventStatsDoc struct {
	Format string            `json:"format"` // always [eventStatsFormat]
	Over   time.Duration     `json:"over_ns"`
	Events map[string]uint64 `json:"events"` // by kind
}

// eventFlags are what flags of vtdump events ask for.
type eventFlags struct {
	follow bool
	stats  bool
	kinds  []string // names of kinds, of the program's own too; none: all
}

// A kindDoc describes a kind of events.
type kindDoc struct {
	Name     string          `json:"name"`
	Category flight.Category `json:"category"`
	About    string          `json:"about"`
	Fields   []fieldDoc      `json:"fields"`
	Default  string          `json:"default"`
	Profile  string          `json:"profile"`
	Cost     string          `json:"cost"`
}

type fieldDoc struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Unit  string `json:"unit,omitempty"`
	Means string `json:"means"`
}

// catalogue prints the kinds of events that there are.
func (s *settings) catalogue(w world) error {
	var rows []kindDoc
	for k := range flight.Kinds {
		info := &flight.Kinds[k]
		if info.Category == "" || flight.Kind(k) == flight.EventMore || len(s.events.kinds) > 0 && !slices.Contains(s.events.kinds, info.Name) {
			continue
		}
		row := kindDoc{info.Name, info.Category, info.About, []fieldDoc{}, info.Default.String(), info.Profile.String(), info.Cost.String()}
		for _, f := range info.Fields {
			use := &flight.FieldUses[f.Use]
			row.Fields = append(row.Fields, fieldDoc{f.Name, use.Type, use.Unit, use.Name})
		}
		rows = append(rows, row)
	}
	if s.format == "json" {
		b, err := json.MarshalIndent(catalogueDoc{catalogueFormat, rows}, "", " ")
		if err != nil {
			return err
		}
		return written(w.stdout.Write(append(b, '\n')))
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-15s %s\n", row.Name, row.About)
		var fields []string
		for _, f := range row.Fields {
			fields = append(fields, f.Name+" "+f.Type)
		}
		if len(fields) > 0 {
			fmt.Fprintf(&b, "%-15s fields: %s\n", "", strings.Join(fields, ", "))
		}
		fmt.Fprintf(&b, "%-15s %s; default: %s; profile: %s; cost: %s\n", "", row.Category, row.Default, row.Profile, row.Cost)
	}
	return written(io.WriteString(w.stdout, b.String()))
}

// printEvents prints the events of a recording, or of a process: what its rings still hold, and with --follow what comes.
func (s *settings) printEvents(ctx context.Context, w world) error {
	p := newEventPrinter(s, w)
	if isRecording(s.target) || isBundle(s.target) {
		f, at, err := s.openRecording()
		if err != nil {
			return err
		}
		defer f.Close()
		if s.drill.events {
			at = "" // what it did before and after that moment
		}
		if at != "" || s.events.follow {
			return usageError{"events of a recording are all that it has", "vtdump events " + strings.TrimSuffix(s.target, "@"+at)}
		}
		if err := f.Read(ctx, func(b *recording.Batch) bool { return p.batch(f, b) == nil }); err != nil {
			return err
		}
		in := f.Info()
		return p.end(in.To.Sub(in.From)-f.Begins(), in.Incomplete)
	}
	r, err := open(s.call(), s.target, w.now())
	if err != nil {
		return err
	}
	defer r.Close()
	if s.events.stats && !s.events.follow && s.drill.thread == 0 {
		return p.counters(r)
	}
	o := recording.Options{Held: true, Every: 100 * time.Millisecond}
	if !s.events.follow {
		o.For = time.Millisecond
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := recording.Record(ctx, r, p, o)
	if p.err != nil {
		return p.err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.target, err)
	}
	return p.end(report.Info.To.Sub(report.Info.From), report.Info.Incomplete)
}

// An eventPrinter prints events as they come.
type eventPrinter struct {
	s       *settings
	w       world
	out     *bufio.Writer
	tracker *recording.Tracker
	counts  map[string]uint64 // by kind, or name of the program's own
	lost    uint64
	err     error
}

func newEventPrinter(s *settings, w world) *eventPrinter {
	return &eventPrinter{s: s, w: w, out: bufio.NewWriterSize(w.stdout, 64<<10), counts: map[string]uint64{}}
}

// Write prints the events of a chunk, which is a recording by itself.
func (p *eventPrinter) Write(chunk []byte) (int, error) {
	f, err := recording.NewFile(bytes.NewReader(chunk), int64(len(chunk)))
	if err != nil {
		return 0, err
	}
	if err := f.Read(context.Background(), func(b *recording.Batch) bool { return p.batch(f, b) == nil }); err != nil {
		return 0, err
	}
	if p.err == nil {
		p.err = written(0, p.out.Flush())
	}
	return len(chunk), p.err
}

// batch prints a batch. It keeps the first error, and returns it.
func (p *eventPrinter) batch(src recording.Source, b *recording.Batch) error {
	if p.tracker == nil {
		p.tracker = recording.NewTracker(src)
	}
	p.tracker.Resolve(src)
	if b.State != nil && (len(b.State.Threads) > 0 || p.tracker.Len() == 0) {
		p.tracker.Reset(b.State)
	}
	if b.Lost > 0 {
		p.lost += b.Lost
		if !p.s.events.stats && p.s.format != "json" {
			fmt.Fprintf(p.out, "  ! %s missing here\n", dump.Count(int(b.Lost), "event"))
		}
	}
	for i := range b.Events {
		e := &b.Events[i]
		name := e.Name(src)
		over := p.tracker.Thread(e.Thread) // before its end
		p.tracker.Apply(e)
		if th := p.tracker.Thread(e.Thread); th != nil {
			over = th
		}
		if id := p.s.drill.thread; id != 0 && e.Thread != id {
			continue
		}
		if k := p.s.events.kinds; len(k) > 0 && !slices.Contains(k, name) && !slices.Contains(k, e.Kind.String()) {
			continue
		}
		p.counts[name]++
		if !p.s.events.stats && p.err == nil {
			p.err = p.line(src, e, name, over)
		}
	}
	return p.err
}

// An eventDoc is an event as JSON.
type eventDoc struct {
	Time    time.Time       `json:"time"`
	At      time.Duration   `json:"at_ns"` // since the beginning of the recording
	Kind    string          `json:"kind"`
	Event   string          `json:"event,omitempty"` // of the program's own: its name
	Thread  flight.ThreadID `json:"thread,omitempty"`
	Name    string          `json:"name,omitempty"`    // the thread's
	Carrier *int            `json:"carrier,omitempty"` // none: told by somebody who is none
	Fields  map[string]any  `json:"fields,omitempty"`
}

// line prints an event.
func (p *eventPrinter) line(src recording.Source, e *recording.Event, name string, th *recording.Thread) error {
	from := src.Info().From
	if p.s.format == "json" {
		doc := eventDoc{Time: from.Add(e.Time), At: e.Time, Kind: e.Kind.String(), Thread: e.Thread, Fields: map[string]any{}}
		if name != doc.Kind {
			doc.Event = name
		}
		if th != nil {
			doc.Name = th.Name
		}
		if e.Carrier != flight.NoCarrier {
			c := int(e.Carrier)
			doc.Carrier = &c
		}
		p.fields(src, e, func(f flight.Field, word uint64, text string) {
			if u := &flight.FieldUses[f.Use]; u.Unit == "ns" || u.Name == "count" {
				doc.Fields[f.Name] = word
			} else {
				doc.Fields[f.Name] = text
			}
		})
		b, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		return written(p.out.Write(append(b, '\n')))
	}
	line := fmt.Appendf(nil, "%s  ", from.Add(e.Time).Format("15:04:05.000000"))
	if e.Carrier == flight.NoCarrier {
		line = append(line, "   -  "...)
	} else {
		line = fmt.Appendf(line, "%4d  ", e.Carrier)
	}
	line = fmt.Appendf(line, "%-14s", name)
	if e.Thread != 0 {
		line = fmt.Appendf(line, "  #%d", e.Thread)
		if th != nil && th.Name != "" {
			line = fmt.Appendf(line, " %q", th.Name)
		}
	}
	p.fields(src, e, func(f flight.Field, _ uint64, text string) { line = fmt.Appendf(line, "  %s %s", f.Name, text) })
	text := dump.Printable(string(line))
	if p.s.ascii {
		text = dump.ASCII(text)
	}
	return written(p.out.WriteString(text + "\n"))
}

// fields calls f with each field that says something, and its text.
func (p *eventPrinter) fields(src recording.Source, e *recording.Event, f func(flight.Field, uint64, string)) {
	e.Fields(src, src.Info().From, func(id flight.ScopeID) string {
		if sc := p.tracker.Scope(id); sc != nil {
			return sc.Name
		}
		return ""
	}, f)
}

// end prints what there is to say after the last event: the counts with --stats, and what is missing.
func (p *eventPrinter) end(over time.Duration, incomplete []string) error {
	if p.err != nil {
		return p.err
	}
	if p.s.events.stats {
		p.table(p.counts, over)
	}
	err := written(0, p.out.Flush())
	if p.s.drill.thread != 0 && len(p.counts) == 0 {
		fmt.Fprintf(p.w.stderr, "vtdump: no event of thread #%d is still known\n", p.s.drill.thread)
	}
	if p.lost > 0 {
		incomplete = append(incomplete, dump.Count(int(p.lost), "event")+" could not be read in time")
	}
	for _, why := range incomplete {
		fmt.Fprintf(p.w.stderr, "vtdump: incomplete: %s\n", dump.Printable(why))
	}
	return err
}

// counters prints how many events of each kind have happened, which the rings count even of those that nobody recorded.
func (p *eventPrinter) counters(r *flight.Reader) error {
	rings, err := r.Rings()
	if err != nil && !errors.Is(err, flight.ErrIncomplete) {
		return err
	}
	rows := map[string]uint64{}
	for i := range rings {
		for k := range flight.Kinds {
			n := rings[i].Counts[k]
			name := flight.Kind(k).String()
			if n > 0 && (len(p.s.events.kinds) == 0 || slices.Contains(p.s.events.kinds, name)) {
				rows[name] += n
			}
		}
	}
	process := r.Process()
	p.table(rows, process.LastSeen.Sub(process.Start))
	return written(0, p.out.Flush())
}

// table prints counts by kind, the most first.
func (p *eventPrinter) table(rows map[string]uint64, over time.Duration) {
	names := make([]string, 0, len(rows))
	var sum uint64
	for name, n := range rows {
		names = append(names, name)
		sum += n
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(rows[b], rows[a]), cmp.Compare(a, b)) })
	rate := func(n uint64) float64 { return float64(n) / max(over.Seconds(), 1e-9) }
	if p.s.format == "json" {
		b, _ := json.MarshalIndent(eventStatsDoc{eventStatsFormat, over, rows}, "", " ") // of names and numbers
		_, _ = p.out.Write(append(b, '\n'))                                              // Flush has the error
		return
	}
	fmt.Fprintf(p.out, "%-16s %15s %12s\n", "EVENT", "COUNT", "PER SECOND")
	for _, name := range names {
		fmt.Fprintf(p.out, "%-16s %15s %12.1f\n", name, dump.Thousands(int(rows[name])), rate(rows[name]))
	}
	fmt.Fprintf(p.out, "%-16s %15s %12.1f\n", "all", dump.Thousands(int(sum)), rate(sum))
}
