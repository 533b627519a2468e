package flight

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// announceAfter is how long a program runs before it has a recorder though nobody has asked for one: commands that are over by then leave nothing behind.
const announceAfter = 100 * time.Millisecond

// Announce starts the process's recorder a moment from now, unless [Default] has until then, so that a program is listed which has nothing to record
// yet. It does nothing in tests. [Configure] may still be called. Packages call it in their init; it does not block.
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

// inTest reports whether the program is one of go test's.
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

// announce starts the recorder that [Default] will return, unless [Configure] is called first.
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

// dropEarlyLocked takes back what announce has started.
func dropEarlyLocked() error {
	r := process.mu.early
	process.mu.early = nil
	unpublishRegistry(r)
	return r.Close()
}
