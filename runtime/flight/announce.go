package flight

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// announceAfter is how long a program runs before it gets a recorder that it has not asked for. Shorter
// commands leave no file behind.
const announceAfter = 100 * time.Millisecond

// Announce starts the process's recorder a moment from now, unless [Default] starts it before. So a
// program is listed before it records its first event. Announce does nothing in test binaries. It does
// not block, and packages call it in their init. [Configure] may still be called afterwards.
func Announce() {
	if runtime.GOOS != "linux" || inTest() { // elsewhere nothing is listed
		return
	}
	p := &process
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mu.announced {
		p.mu.announced = true
		time.AfterFunc(announceAfter, announce)
	}
}

// inTest reports whether the program is a test binary of the go command.
func inTest() bool {
	if strings.HasSuffix(strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"), ".test") {
		return true
	}
	for _, arg := range os.Args[1:] {
		if strings.HasPrefix(arg, "-test.") {
			return true
		}
	}
	return false
}

// announce starts the recorder that [Default] returns later, unless [Configure] replaces it.
func announce() {
	p := &process
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started.Load() || p.mu.over || p.mu.early != nil {
		return
	}
	p.mu.early = makeDefaultLocked()
}

// makeDefaultLocked makes a recorder with the process's options.
func makeDefaultLocked() *Recorder {
	o := process.mu.options
	if o == nil {
		o = &Options{Mode: environmentMode(), Settings: environmentSettings()}
	}
	all := *o
	all.Collections = true // of the process, and this is its recorder
	r, err := New(all)
	if err != nil { // the options were checked
		fmt.Fprintln(os.Stderr, err)
	}
	return r
}

// dropEarlyLocked closes the recorder that announce started.
func dropEarlyLocked() error {
	r := process.mu.early
	process.mu.early = nil
	unpublishRegistry(r)
	return r.Close()
}
