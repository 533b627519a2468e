package main

import (
	"os/exec"

	"github.com/vtscope/vtscope/internal/figures"
)

// A way is how a work is done; each is a column of the table.
type way struct {
	name    string
	impl    string
	of      func(w work) bool // nil: all
	command func(b bench, w work) *exec.Cmd
}

// The ways, in the order they are measured.
var (
	ours       = way{"ours", "vthread", nil, func(b bench, w work) *exec.Cmd { return b.ours(w, "vthread", "VTSCOPE=") }}
	goroutines = way{"goroutines", "goroutine", nil, func(b bench, w work) *exec.Cmd { return b.ours(w, "goroutine") }}
	oursOff    = way{"ours, off", "vthread", nil, func(b bench, w work) *exec.Cmd { return b.ours(w, "vthread", "VTSCOPE=off") }}
	plainJDK   = way{"JDK", "jdk", nil, func(b bench, w work) *exec.Cmd { return b.jdk.command(w, b.classes, noRecording) }}
	jfr        = way{"JDK + JFR", "jdk", nil, func(b bench, w work) *exec.Cmd { return b.jdk.command(w, b.classes, defaultRecording) }}
	jfrAll     = way{"JDK + JFR, all", "jdk", work.asksForAll, func(b bench, w work) *exec.Cmd { return b.jdk.command(w, b.classes, allEvents) }}
	jfrEach    = way{"JDK + JFR, each wait", "jdk", work.asksForAll, func(b bench, w work) *exec.Cmd { return b.jdk.command(w, b.classes, eachWait) }}

	ways = []way{ours, goroutines, oursOff, plainJDK, jfr, jfrAll, jfrEach}
)

func (w work) asksForAll() bool { return w.recorder != contest{} }

// does reports whether work is done that way with this JDK.
func (y way) does(w work, j jdk) bool {
	return (y.of == nil || y.of(w)) && (y.impl != "jdk" || j.unmeasured(w) == "")
}

// measured are the figures of each way, by its name.
type measured map[string]figures.Figures

// values are a row's figures, one a round.
func (m measured) values(y way, w work, r row) []float64 { return m[y.name][w.metric(r, y.impl)] }
