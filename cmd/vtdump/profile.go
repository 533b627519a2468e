package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/agent/control"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/memory"
	threads "github.com/vtscope/vtscope/dump/profile"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/profile"
)

const (
	// usualProfile is how long a process that lives is followed for a profile of events, or of its processors.
	usualProfile = 10 * time.Second
	mostProfile  = 3600 // seconds
)

// profileFormats are those of vtdump profile. The first is the usual one.
var profileFormats = []string{"pprof", "text"}

// seconds reads the value of --seconds.
func seconds(v string) (time.Duration, error) {
	n, err := natural(v)
	if err != nil || n < 1 || n > mostProfile {
		return 0, fmt.Errorf("want a whole number from 1 to %d", mostProfile)
	}
	return time.Duration(n) * time.Second, nil
}

// A profileOf is a profile of a target, and what a file with it is called if nobody says it.
type profileOf struct {
	*pprof.Profile
	name string
}

// profile writes a profile of the target.
func (s *settings) profile(ctx context.Context, w world) error {
	call := s.call() + " " + s.target
	switch {
	case len(s.more) == 0:
		return usageError{"profile needs the name of one", call + " park; there are " + strings.Join(profile.Names(), ", ")}
	case len(s.more) > 1:
		return usageError{fmt.Sprintf("one profile at a time, and not %q", s.more), call + " " + s.more[0]}
	}
	k := profile.KindOf(s.more[0])
	if k == nil {
		near := cmp.Or(nearest(s.more[0], profile.Names()), "park")
		return usageError{fmt.Sprintf("no profile %q: there are %s", s.more[0], strings.Join(profile.Names(), ", ")), call + " " + near}
	}
	output := s.exporting.output
	text := s.format == "text"
	if output == "-" && !text && w.terminal {
		return usageError{"profile: standard output is a terminal", "-o FILE, or --format text"}
	}
	if output != "" && output != "-" && same(s.target, output) {
		return usageError{"profile: " + output + " is the target itself", "another name after -o"}
	}
	p, err := s.takeProfile(ctx, w, k)
	if err != nil {
		return err
	}
	write := p.Write
	if text {
		write = func(to io.Writer) error { return profile.Text(to, k.Name, p.Profile) }
	}
	if output == "-" || output == "" && text {
		return written(0, write(w.stdout))
	}
	if output == "" {
		output = p.name + "." + k.Name + ".pb.gz"
	}
	var n int64
	if err := writeWhole(output, 0o600, func(to io.Writer) error {
		counted := counter{w: to}
		err := write(&counted)
		n = counted.n
		return err
	}); err != nil {
		return fmt.Errorf("profile %s: %w", s.target, err)
	}
	fmt.Fprintf(w.stderr, "wrote %s: %s, %s\n", dump.Printable(output), dump.Count(len(p.Sample), "sample"), dump.Count(uint64(n), "byte"))
	for _, c := range p.Comments {
		fmt.Fprintf(w.stderr, "    %s\n", dump.Printable(c))
	}
	return nil
}

// takeProfile makes a profile of whatever the target is.
func (s *settings) takeProfile(ctx context.Context, w world, k *profile.Kind) (p profileOf, err error) {
	base := filepath.Base(s.target)
	p.name = strings.TrimSuffix(base, filepath.Ext(base))
	path, _ := splitMoment(s.target)
	switch {
	case isRecording(s.target) || isBundle(path):
		p.Profile, err = s.profileOfRecording(ctx, k)
		return p, err
	case k.Origin != profile.OfThreads && (isDump(s.target) || isTraces(s.target) || memory.IsCore(s.target)):
		return p, usageError{fmt.Sprintf("%s has the threads of one moment, and %s is of a time", s.target, k.Name), s.call() + " " + s.target + " threads"}
	case s.profiled > 0 && k.Origin == profile.OfThreads && (isDump(s.target) || isTraces(s.target) || memory.IsCore(s.target)):
		return p, usageError{"--seconds: " + s.target + " is of one moment", "without --seconds"}
	case isDump(s.target):
		if k.Name != "threads" {
			return p, usageError{s.target + " has groups, and not threads", s.call() + " " + s.target + " threads"}
		}
		snap, err := s.snapshotInFile()
		if err != nil {
			return p, err
		}
		p.Profile = threads.Of(snap)
		return p, nil
	case isTraces(s.target):
		src, err := s.readTraces(ctx, w)
		if err != nil {
			return p, fmt.Errorf("%s: %w", s.target, err)
		}
		p.Profile, err = profile.FromThreads(ctx, k, src)
		return p, err
	case memory.IsCore(s.target):
		src, err := s.opened(w)
		if err != nil {
			return p, err
		}
		defer src.Close()
		p.Profile, err = profile.FromThreads(ctx, k, src)
		return p, err
	}
	r, err := open(s.call(), s.target, w.now())
	if err != nil {
		return p, err
	}
	defer r.Close()
	process := r.Process()
	p.name = fmt.Sprintf("%s-%d", filepath.Base(process.Program), process.PID)
	p.Profile, err = s.profileOfProcess(ctx, k, r, process)
	return p, err
}

// profileOfProcess follows a process that lives; of one that is gone it takes what its flight file still has.
func (s *settings) profileOfProcess(ctx context.Context, k *profile.Kind, r *flight.Reader, process flight.Process) (*pprof.Profile, error) {
	if !process.Status.Live() {
		switch {
		case k.Origin == profile.OfProcess:
			return nil, hint{fmt.Errorf("profile %s: the process is %s, and cannot be asked", k.Name, process.Status), s.call() + " " + s.target + " run"}
		case k.Origin == profile.OfThreads && s.profiled > 0:
			return nil, hint{fmt.Errorf("--seconds: the process is %s", process.Status), "without --seconds"}
		case k.Origin == profile.OfThreads:
			return profile.FromThreads(ctx, k, r)
		}
		return s.profileOfRest(ctx, k, r)
	}
	d := s.profiled
	if d == 0 && k.Origin != profile.OfThreads {
		d = usualProfile
	}
	p, err := profile.Follow(ctx, k, r, d, profile.ProcessOptions{CPU: func(ctx context.Context, d time.Duration) ([]byte, error) {
		return control.Profile(ctx, process.Path, "cpu", d)
	}})
	if errors.Is(err, control.ErrUnknown) {
		err = hint{err, "import _ \"github.com/vtscope/vtscope/runtime/flight/profiling\" in the program, or " + s.call() + " " + s.target + " run, for how long its threads were mounted"}
	}
	return p, err
}

// profileOfRest makes a profile of events that the rings of a process which is gone still hold.
func (s *settings) profileOfRest(ctx context.Context, k *profile.Kind, r *flight.Reader) (*pprof.Profile, error) {
	var b bytes.Buffer
	if _, err := recording.Record(ctx, r, &b, recording.Options{Held: true}); err != nil {
		return nil, fmt.Errorf("%s: %w", s.target, err)
	}
	f, err := recording.NewFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.target, err)
	}
	defer f.Close()
	info := f.Info()
	to := info.To.Sub(info.From)
	return profile.OfRecording(ctx, k, f, s.since(f, to), to, profile.CollectorOptions{})
}

// since returns when a profile begins that ends at a moment of a recording. What happens at that time is before it: of the whole recording the first event counts, too.
func (s *settings) since(f *recording.File, to time.Duration) time.Duration {
	begins := f.Begins() - 1
	if s.profiled > 0 {
		return max(to-s.profiled, begins)
	}
	return begins
}

// profileOfRecording makes a profile of a recording, up to the moment in the target or to the end: of all before, or of --seconds.
func (s *settings) profileOfRecording(ctx context.Context, k *profile.Kind) (*pprof.Profile, error) {
	f, at, err := s.openRecording()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	to, err := moment(at, f)
	if err != nil {
		return nil, err
	}
	if k.Origin == profile.OfThreads && s.profiled > 0 {
		return nil, usageError{"--seconds: " + k.Name + " is of a moment", s.call() + " RECORDING@12s " + k.Name + ", and go tool pprof -diff_base"}
	}
	p, err := profile.OfRecording(ctx, k, f, s.since(f, to), to, profile.CollectorOptions{})
	if errors.Is(err, profile.ErrNone) {
		err = hint{err, s.call() + " " + s.target + " run, for how long its threads were mounted"}
	}
	return p, err
}
