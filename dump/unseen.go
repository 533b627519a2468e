package dump

import (
	"os"
	"runtime"

	"github.com/vtscope/vtscope/runtime/flight"
)

// unseen notes that a live process has no threads. Its goroutines do the work, and flight files do not
// have those.
func (p *Process) unseen(threads int) {
	if threads > 0 || p.Kind != "" || p.Status != StatusRunning && p.Status != StatusStopped {
		return
	}
	which := "its goroutines are no threads of vtscope"
	if own := flight.Default(); own != nil && own.Path() == p.File && p.PID == os.Getpid() {
		which = Count(runtime.NumGoroutine(), "goroutine") + " of it are no threads of vtscope"
	}
	p.Unseen = which + ", and are not seen here; try: curl HOST:PORT/debug/pprof/goroutine?debug=2 | vtdump -"
}

// unseen prints the note of [Process.Unseen].
func (l *lines) unseen(p *Process) {
	if p.Unseen != "" {
		l.text(warn, "not seen: ")
		l.paragraph(plain, l.clean(p.Unseen), 4)
	}
}
