package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/agent/trigger"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/runtime/flight"
)

// incidentFlags is what the flags about incidents say.
type incidentFlags struct {
	rules   []trigger.Rule
	dir     string
	budget  int64
	without []string
	part    string
}

func (f *incidentFlags) on(v string) error {
	r, err := trigger.Parse(v)
	var bad *trigger.ParseError
	if errors.As(err, &bad) {
		return fmt.Errorf("no such rule:\n%s", bad.Pointer())
	}
	if err == nil {
		f.rules = append(f.rules, r)
	}
	return err
}

func (f *incidentFlags) leaveOut(v string) error {
	_, err := word(v, incident.PartNames())
	f.without = append(f.without, v)
	return err
}

// units are what a size may end in.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"", 1},
}

// size reads a number of bytes, such as 100MB or 100MiB.
func size(v string) (int64, error) {
	for _, unit := range units {
		if number, ok := strings.CutSuffix(v, unit.name); ok {
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil || n <= 0 || n > math.MaxInt64/unit.bytes {
				break
			}
			return n * unit.bytes, nil
		}
	}
	return 0, errors.New("want a size such as 100MB or 100MiB")
}

func (s *settings) store() (*incident.Store, error) {
	f := &s.incident
	store, err := incident.OpenStore(incident.Options{
		Dir: f.dir, Budget: f.budget, Every: s.every, Take: incident.TakeOptions{Without: f.without},
	})
	if err != nil {
		return nil, hint{err, "--dir DIR, another directory"}
	}
	return store, nil
}

// takeIncident takes a bundle because the user wants one.
func (s *settings) takeIncident(ctx context.Context, w world, r *flight.Reader) error {
	store, err := s.store()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	why := incident.Cause{What: "asked for", Fired: w.now().UTC()}
	path, err := store.Take(ctx, r, why)
	if err != nil {
		return hint{err, "--dir DIR, another directory, or --budget SIZE"}
	}
	if s.format == "json" {
		return s.tell(w, &firingDoc{why.Fired, []incident.Cause{why}, path, ""})
	}
	return written(fmt.Fprintf(w.stdout, "%s\n    try: vtdump open %s\n", path, path))
}

// A firingDoc is a line of vtdump incident --json and watch --json.
type firingDoc struct {
	At     time.Time        `json:"at"`
	Causes []incident.Cause `json:"causes"`
	Bundle string           `json:"bundle,omitempty"`
	Why    string           `json:"why,omitempty"` // there is no bundle
}

// tell tells of what fired.
func (s *settings) tell(w world, d *firingDoc) error {
	if s.format == "json" {
		return written(0, json.NewEncoder(w.stdout).Encode(d))
	}
	var b strings.Builder
	for _, c := range d.Causes {
		fmt.Fprintf(&b, "%s  %s\n          %s\n", d.At.Local().Format("15:04:05"), c.Rule, dump.Printable(c.What))
	}
	if d.Bundle != "" {
		fmt.Fprintf(&b, "          vtdump open %s\n", d.Bundle)
	} else {
		fmt.Fprintf(&b, "          no bundle: %s\n", dump.Printable(d.Why))
	}
	return written(io.WriteString(w.stdout, b.String()))
}

// watch takes a bundle each time a rule comes true. It returns errFound if one did.
func (s *settings) watch(ctx context.Context, w world, r *flight.Reader) error {
	if len(s.incident.rules) == 0 {
		var all []string
		for i := range trigger.Rules {
			all = append(all, trigger.Rules[i].Example)
		}
		return usageError{"watch needs a rule", "--on RULE, such as\n" + strings.Join(all, "\n")}
	}
	store, err := s.store()
	if err != nil {
		return err
	}
	if s.recording.last > 0 {
		tail, err := store.NewTail(r, s.recording.last)
		if err != nil {
			return err
		}
		defer tail.Close() // what is left of it is removed by the next
		store.TakeEvents(tail.Events)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := r.Process()
	fmt.Fprintf(w.stderr, "vtdump: watches %s (pid %d) for %s; ends with it, or by Ctrl-C\n", printable(p.Program), p.PID, dump.Count(len(s.incident.rules), "rule"))
	found := false
	var failed error
	o := trigger.Options{
		Rules: s.incident.rules,
		Warn:  func(what string) { fmt.Fprintf(w.stderr, "vtdump: %s\n", printable(what)) },
		Fire: func(fired []trigger.Firing) {
			found = true
			d := fire(ctx, store, r, fired)
			if err := s.tell(w, d); err != nil && failed == nil {
				failed = err
				stop() // nobody reads what is printed
			}
		},
	}
	err = trigger.Watch(ctx, r, o)
	switch {
	case failed != nil:
		return failed
	case err != nil && !errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", s.target, err)
	case found:
		return errFound
	}
	return nil
}

// fire takes a bundle for rules that came true together, unless there were too many.
func fire(ctx context.Context, store *incident.Store, r *flight.Reader, fired []trigger.Firing) *firingDoc {
	d := &firingDoc{At: fired[0].At.UTC(), Causes: incident.CausesOf(fired)}
	var err error
	if d.Bundle, err = store.Fire(ctx, r, fired); err != nil {
		d.Why = err.Error()
	}
	return d
}
