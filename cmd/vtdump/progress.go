package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vtscope/vtscope/dump"
)

// patience is how long a command takes before it tells that it works.
const patience = time.Second

// waitsItself are the commands that take as long as they are asked to, and tell so themselves.
const waitsItself = commandWatch | commandRecord | commandEvents | commandDiff | commandTop

// withProgress does f, and from a second on tells on the terminal of standard error that it works, in a line that is gone before anything else is written.
func (s *settings) withProgress(w world, f func(w world) error) error {
	if !w.watched || s.command&waitsItself != 0 || s.again > 0 {
		return f(w)
	}
	p := &progress{to: w.stderr, what: formOf(s.command).word, began: time.Now(), stop: make(chan struct{}), stopped: make(chan struct{})}
	if p.what == "" {
		p.what = "threads"
	}
	if s.targeted {
		p.what += " of " + dump.Printable(s.target)
	}
	go p.run(patience)
	defer p.end()
	w.stdout, w.stderr = progressWriter{p, w.stdout}, progressWriter{p, w.stderr}
	return f(w)
}

// A progress is a line that tells how long something takes. Its goroutine ends when end is called.
type progress struct {
	to            io.Writer
	what          string
	began         time.Time
	stop, stopped chan struct{}

	mu struct {
		sync.Mutex
		shown, ended bool
	}
}

// run tells every so often.
func (p *progress) run(every time.Duration) {
	defer close(p.stopped)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.tell()
		}
	}
}

func (p *progress) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.ended {
		return
	}
	p.mu.shown = true
	fmt.Fprintf(p.to, "\rvtdump: %s: for %s ...%s", p.what, dump.Span(time.Since(p.began).Round(time.Second)), eraseLine)
}

// erase takes the line away for good.
func (p *progress) erase() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.shown && !p.mu.ended {
		fmt.Fprint(p.to, "\r"+eraseLine)
	}
	p.mu.ended = true
}

// end stops the goroutine and waits for it.
func (p *progress) end() {
	p.erase()
	close(p.stop)
	<-p.stopped
}

// A progressWriter takes the line away before it writes.
type progressWriter struct {
	p  *progress
	to io.Writer
}

func (w progressWriter) Write(b []byte) (int, error) {
	w.p.erase()
	return w.to.Write(b)
}
