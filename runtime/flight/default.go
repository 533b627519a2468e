package flight

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// process is the process's own recorder.
var process struct {
	started  atomic.Bool // stored under mu, after recorder
	recorder *Recorder
	mu       struct {
		sync.Mutex
		options   *Options
		early     *Recorder // announced, and not asked for yet; it has recorded nothing
		announced bool
		over      bool // closed before anything was to be recorded: not announced any more
	}
}

// Default returns the process's recorder and starts it at the first call, unless it was announced before ([Announce]), set up by [Configure] or
// else by the environment. It is nil when the recorder is off.
func Default() *Recorder {
	if process.started.Load() {
		return process.recorder
	}
	return startDefault()
}

func startDefault() *Recorder {
	p := &process
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started.Load() {
		return p.recorder
	}
	r := p.mu.early
	if p.mu.early = nil; r == nil {
		r = makeDefaultLocked()
	}
	p.recorder = r
	adoptUserKinds(r)
	p.started.Store(true)
	return r
}

func environmentMode() Mode {
	switch s := os.Getenv("VTSCOPE"); s {
	case "", "on":
	case "off":
		return ModeOff
	case "private":
		return ModePrivate
	default:
		fmt.Fprintf(os.Stderr, "flight: unknown VTSCOPE=%q: want on, private or off; recording\n", s)
	}
	return ModeShared
}

// environmentSettings are those that $VTSCOPE_SETTINGS names: a name of [SettingsNames], or a file.
func environmentSettings() *Settings {
	name := os.Getenv("VTSCOPE_SETTINGS")
	if name == "" {
		return nil
	}
	s, err := NamedSettings(name)
	if err != nil {
		var text []byte
		if text, err = os.ReadFile(name); err == nil {
			s, err = ParseSettings(string(text))
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "flight: bad VTSCOPE_SETTINGS=%q: %v; with those of default\n", name, err)
		return nil
	}
	return &s
}

// Configure sets the options of the process's recorder, which then ignores VTSCOPE. It must be
// called before the first [Default], so before the first thread starts; else it returns an error.
func Configure(o Options) error {
	if o.Mode >= modeCount {
		return fmt.Errorf("flight: unknown mode %d", o.Mode)
	}
	if o.MaxThreads < 0 || o.MaxThreads > maxThreads {
		return fmt.Errorf("flight: bad number of threads %d: want 0 to %d", o.MaxThreads, maxThreads)
	}
	p := &process
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started.Load() {
		return errors.New("flight: configure: the recorder has started")
	}
	p.mu.options = &o
	if p.mu.early == nil {
		return nil
	}
	err := dropEarlyLocked()
	p.mu.early = makeDefaultLocked()
	return err
}

// Close closes the process's recorder and removes its file, so that observers say that the process
// has ended. Go has no exit hook: main calls it last. Threads that still run are not disturbed.
// Further calls do nothing; a recorder that has not started is left alone.
func Close() error {
	p := &process
	if p.started.Load() {
		return p.recorder.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started.Load() {
		return p.recorder.Close()
	}
	p.mu.over = true
	return dropEarlyLocked()
}
