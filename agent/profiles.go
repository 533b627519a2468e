package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/vtscope/vtscope/agent/control"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/tracing/profile"
)

const (
	profilePath = "/pprof/"
	// profileIdle is how long a process is followed for profiles of events after somebody has asked for one; who scrapes asks more often.
	profileIdle = 10 * time.Minute
	// profileBegin is how long the first who asks waits until it is followed.
	profileBegin = 5 * time.Second
)

// profileSources are the processes that profiles are served of. Each is followed from the first request for a profile of its events on.
type profileSources struct{ agent *Agent }

// profiles serves them below [profilePath].
func (a *Agent) profiles() http.Handler {
	return http.StripPrefix("/pprof", profile.Handler(profileSources{a}))
}

// Find returns the process of a key or pid, or the one that the agent chooses.
func (s profileSources) Find(key string) (profile.Source, func()) {
	f := s.agent.choose()
	if key != "" {
		f = s.agent.find(key)
	}
	if f == nil {
		return nil, nil
	}
	r, err := f.flightReader()
	if err != nil {
		return nil, nil
	}
	p, err := profile.NewProcess(r, profile.ProcessOptions{CPU: f.takeCPU})
	if err != nil {
		r.Close()
		return nil, nil
	}
	return &profileSource{p, f}, func() { r.Close() }
}

// Keys returns those of all processes that are followed.
func (s profileSources) Keys() (keys []string) {
	for _, v := range s.agent.views() {
		keys = append(keys, v.row.Key)
	}
	return keys
}

// A profileSource is a process for one request. Its collector is that of all requests.
type profileSource struct {
	*profile.Process
	follower *follower
}

// Events returns the collector that follows the process, once it does. nil: nobody can follow it.
func (s *profileSource) Events() *profile.Collector { return s.follower.collector() }

// A profiler follows a process for profiles of events.
type profiler struct {
	mu struct {
		sync.Mutex
		current *profiling // nil: nobody follows
	}
}

type profiling struct {
	source *profile.Process
	began  chan struct{} // closed when the first state was told
	done   chan struct{} // closed when it is followed no more
	stop   context.CancelFunc
	timer  *time.Timer
}

// collector begins to follow the process if nobody does, and waits until it is.
func (f *follower) collector() *profile.Collector {
	p := f.profiling()
	if p == nil {
		return nil
	}
	wait := time.NewTimer(profileBegin)
	defer wait.Stop()
	select {
	case <-p.began:
	case <-wait.C:
	case <-p.done:
	}
	return p.source.Events()
}

func (f *follower) profiling() *profiling {
	l := &f.profiler
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.mu.current; p != nil {
		p.timer.Reset(profileIdle)
		return p
	}
	r, err := f.flightReader()
	if err != nil {
		return nil
	}
	source, err := profile.NewProcess(r, profile.ProcessOptions{})
	if err != nil || !r.Process().Status.Live() {
		r.Close()
		return nil
	}
	live, err := recording.NewLive(r, recording.LiveOptions{})
	if err != nil {
		r.Close()
		return nil
	}
	ctx, stop := context.WithCancel(f.agent.ctx)
	p := &profiling{source: source, began: make(chan struct{}), done: make(chan struct{}), stop: stop, timer: time.AfterFunc(profileIdle, stop)}
	observe := func() {
		defer close(p.done)
		defer r.Close()
		defer stop()
		defer p.timer.Stop()
		err := recording.Observe(ctx, live, source.Events(), &beginning{began: p.began})
		// What was counted stays to be asked for of a process that has ended; else the next who asks begins anew.
		if !isGone(r.Process()) {
			l.mu.Lock()
			l.mu.current = nil
			l.mu.Unlock()
			if err != nil && ctx.Err() == nil {
				f.agent.warnOnce(fmt.Sprintf("profiles of %s begin anew: %v", f.key, err))
			}
		}
	}
	if !f.agent.goWhileOpen(observe) {
		stop()
		p.timer.Stop()
		r.Close()
		return nil
	}
	l.mu.current = p
	return p
}

// A beginning is an observer that tells when it was told for the first time. It comes after those who count.
type beginning struct {
	began chan struct{}
	once  sync.Once
}

func (b *beginning) Reset(*recording.Tracker)                                     { b.once.Do(func() { close(b.began) }) }
func (b *beginning) Event(*recording.Event, recording.Change, *recording.Tracker) {}
func (b *beginning) Lost(uint64)                                                  {}
func (b *beginning) Flush(*recording.Tracker)                                     {}

// takeCPU has the process take Go's own profile. What nobody may see is hidden in it: it comes from no reader.
func (f *follower) takeCPU(ctx context.Context, d time.Duration) ([]byte, error) {
	b, err := f.askCPU(ctx, d)
	if err != nil {
		return nil, err
	}
	return f.agent.options.Access.Redactor().Profile(b)
}

func (f *follower) askCPU(ctx context.Context, d time.Duration) ([]byte, error) {
	if f.own != nil {
		return ownCPU(ctx, d)
	}
	b, err := control.Profile(ctx, f.path, "cpu", d)
	if errors.Is(err, control.ErrUnknown) {
		err = fmt.Errorf("%w: the program does not import runtime/flight/profiling", profile.ErrNone)
	}
	return b, err
}

// ownCPU takes Go's own profile of this process.
func ownCPU(ctx context.Context, d time.Duration) ([]byte, error) {
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		return nil, err
	}
	err := pause(ctx, d)
	pprof.StopCPUProfile()
	return b.Bytes(), err
}
