package agent

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
)

// Exports are the ways to take away what the agent knows of a process.
type Exports struct {
	Rows []ExportRow `json:"rows"` // cheap ones first
}

// An ExportRow is one of them, with an estimate of what it costs.
type ExportRow struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	About   string `json:"about"` // what reads it; no full stop
	Method  string `json:"method"`
	Path    string `json:"path"`    // relative to the agent's root
	Narrows bool   `json:"narrows"` // it takes filter and scope
	Lasts   bool   `json:"lasts"`   // it takes a time that may be chosen: the path has it
	File    string `json:"file"`    // under which it is kept; "": it stays with the agent
	Role    string `json:"role"`    // that it needs: read or operate
	Why     string `json:"why"`     // why it cannot be had; "" if it can
	Risk    string `json:"risk"`    // for the process: low, medium or high
	Takes   int64  `json:"takes"`   // about how long
	Size    int64  `json:"size"`    // about how many bytes; 0: not known
	Costs   string `json:"costs"`   // what it does to the process, a sentence without a full stop
	Command string `json:"command"` // of vtdump, that does the same; what narrows is to be added
}

// What is estimated. docs/formats.md, docs/recordings.md, docs/jfr.md and docs/perfetto.md have what was measured.
const (
	groupSize     = 1500 // bytes of a group as JSON, with its stack
	threadSize    = 1200 // bytes of a thread by itself, with a stack of ten frames
	threadTakes   = 7 * time.Microsecond
	stopPerThread = time.Microsecond // of a goroutine in Go's own profile of them
	mediumSize    = 100 << 20
	highSize      = 1 << 30 // as vtdump, which asks for --yes
	highStop      = 100 * time.Millisecond
)

// A way is a row of what can be exported. The page's menu derives from it.
type exportWay struct {
	name, title, about string
	method, path       string // relative to the process
	narrows            bool
	file               string
	needs              exportNeed
	command            string // of vtdump; TARGET and DURATION stand for what is meant
	estimate           func(e *exported, x *ExportRow)
}

// An exportNeed is what there must be of a process.
type exportNeed uint8

const (
	needsThreads exportNeed = iota // anything that is shown
	needsFile                      // a flight file
	needsLife                      // it must live
)

// exported is what estimates are made of.
type exported struct {
	view    *view
	threads int64
	groups  int64
	during  time.Duration
	tape    float64 // bytes of a recording
}

const readsTables = "it reads the tables of the flight file from outside: the process does not notice"

const readsMemory = "it reads the memory of the process from outside: the process does not notice"

// Ways of /dump, by groups: what an average group is of the size of JSON.
func ofGroups(share float64) func(*exported, *ExportRow) {
	return func(e *exported, x *ExportRow) {
		x.Size, x.Costs = int64(share*float64(e.groups*groupSize)), readsTables
		if s := e.view.snapshot; s != nil {
			x.Takes = int64(s.Took)
		}
	}
}

func ofThreads(e *exported, x *ExportRow) {
	x.Size, x.Takes, x.Costs = e.threads*threadSize, e.threads*int64(threadTakes), readsTables+"; each thread is in it"
}

// ofTape estimates a recording; more is bytes of the form for each of a recording.
func ofTape(more float64) func(*exported, *ExportRow) {
	return func(e *exported, x *ExportRow) {
		x.Takes, x.Size = int64(e.during)+int64(e.tape/4), int64(more*e.tape) // 4 bytes each nanosecond were measured
		x.Costs = "it copies events from outside: the process does not notice, the agent works up to a quarter of a processor for a million events a second"
	}
}

var exportWays = []exportWay{
	{"json", "Dump, JSON", "for programs, vtdump and this page", "GET", "dump", true, "dump.json", needsThreads, "vtdump TARGET --json", ofGroups(1)},
	{"text", "Dump, text", "for people and tickets", "GET", "dump?format=text", true, "dump.txt", needsThreads, "vtdump TARGET", ofGroups(0.4)},
	{"html", "Dump, one HTML file", "opens in a browser without vtserve", "GET", "dump?format=html", true, "dump.html", needsThreads, "vtdump TARGET --format html", ofGroups(1.1)},
	{"markdown", "Dump, Markdown", "for issues and chats", "GET", "dump?format=markdown", true, "dump.md", needsThreads, "vtdump TARGET --format markdown", ofGroups(0.2)},
	{"folded", "Folded stacks", "for flamegraph.pl, inferno and speedscope", "GET", "dump?format=folded", true, "threads.folded", needsThreads, "vtdump TARGET --format folded", ofGroups(0.3)},
	{"pprof", "Threads, pprof", "for go tool pprof: how many threads are where", "GET", "dump?format=pprof", true, "threads.pb.gz", needsThreads, "vtdump TARGET --format pprof", ofGroups(0.2)},
	{"dot", "Call paths, Graphviz", "for dot: where threads are, merged", "GET", "dump?format=dot", true, "threads.dot", needsThreads, "vtdump TARGET --format dot", ofGroups(0.2)},
	{"jdk", "Thread dump of the JDK", "for what reads jcmd Thread.dump_to_file -format=json", "GET", "dump?format=jdk", true, "threads.json", needsThreads, "vtdump TARGET --format jdk", ofThreads},
	{"recording", "Recording", "for vtdump, vtserve and rewinding on this page", "POST", "recording?for=", false, "run.vtr", needsFile, "vtdump record TARGET --for DURATION -o run.vtr", ofTape(1)},
	{"jfr", "JDK Flight Recorder", "for JDK Mission Control and jfr", "POST", "recording?as=jfr&for=", false, "run.jfr", needsFile, "vtdump record TARGET --for DURATION -o run.vtr && vtdump export run.vtr -o run.jfr", ofTape(6)},
	{"perfetto", "Perfetto", "for ui.perfetto.dev", "POST", "recording?as=perfetto&for=", false, "run.pftrace", needsFile, "vtdump record TARGET --for DURATION -o run.vtr && vtdump export run.vtr -o run.pftrace", ofTape(5)},
	{"cpu", "CPU profile, pprof", "for go tool pprof: what executes", "GET", "", false, "cpu.pb.gz", needsLife, "vtdump profile TARGET cpu --seconds SECONDS", func(e *exported, x *ExportRow) {
		x.Takes, x.Risk = int64(e.during), "medium"
		x.Costs = "the process interrupts each of its busy OS threads a hundred times a second"
	}},
	{"incident", "Incident bundle", "all that is known, in one file that stays with vtserve", "POST", "incident", false, "", needsFile, "vtdump incident TARGET", func(e *exported, x *ExportRow) {
		stop := time.Duration(e.threads) * stopPerThread
		x.Takes, x.Size, x.Risk = int64(4*time.Second+2*stop), e.groups*groupSize*2+int64(e.tape), "medium"
		x.Costs = "of programs with runtime/flight/profiling Go's profiles: two seconds of CPU, and the profile of goroutines stops the process for about " + dump.Span(stop)
		if stop >= highStop {
			x.Risk = "high"
		}
	}},
}

// Ways of a recording or a bundle that is shown.
var tapeWays = []exportWay{
	{"recording", "Recording", "for vtdump and vtserve", "GET", "recording", false, "run.vtr", needsThreads, "cp TARGET run.vtr", ofNothing},
	{"jfr", "JDK Flight Recorder", "for JDK Mission Control and jfr", "GET", "recording?as=jfr", false, "run.jfr", needsThreads, "vtdump export TARGET -o run.jfr", ofNothing},
	{"perfetto", "Perfetto", "for ui.perfetto.dev", "GET", "recording?as=perfetto", false, "run.pftrace", needsThreads, "vtdump export TARGET -o run.pftrace", ofNothing},
}

func ofNothing(_ *exported, x *ExportRow) { x.Costs = "there is no process that could notice" }

// serveExports tells what can be taken away of a process.
func (a *Agent) serveExports(w http.ResponseWriter, r *http.Request, q *ask) error {
	f, err := a.named(r)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, Exports{a.exportsOf(f, cmp.Or(q.during, usualRecord))})
	return nil
}

func (a *Agent) exportsOf(f *follower, during time.Duration) []ExportRow {
	v := f.view()
	e := &exported{view: v, threads: int64(v.row.Threads), groups: 1, during: during}
	if s := v.snapshot; s != nil {
		e.groups = int64(max(1, len(s.Groups)))
	}
	e.tape = 5*v.rings.rates.Events*during.Seconds() + 3*float64(e.threads)*max(1, during.Seconds()/10)
	rows := []ExportRow{}
	ways := exportWays
	if f.past != nil && f.past.file != nil {
		ways = append(slices.DeleteFunc(slices.Clone(ways), func(w exportWay) bool { return w.needs != needsThreads }), tapeWays...)
	}
	for i := range ways {
		rows = append(rows, a.exportOf(f, e, &ways[i]))
	}
	return rows
}

func (a *Agent) exportOf(f *follower, e *exported, way *exportWay) ExportRow {
	key := url.PathEscape(f.key)
	x := ExportRow{
		Name: way.name, Title: way.title, About: way.about, Method: way.method, Path: "api/v1/processes/" + key + "/" + way.path,
		Narrows: way.narrows, File: way.file, Role: "read", Risk: "low",
	}
	if n := len(way.path); n > 0 && way.path[n-1] == '=' {
		x.Path, x.Lasts = x.Path+e.during.String(), true
	}
	if way.name == "cpu" {
		x.Path, x.Lasts = fmt.Sprintf("%s%s/cpu?seconds=%d", profilePath[1:], key, int(max(1, e.during.Seconds()))), true
	}
	target := strconv.Itoa(e.view.row.PID)
	if f.past != nil {
		target = f.key
	}
	x.Command = strings.NewReplacer("TARGET", target, "DURATION", e.during.String(), "SECONDS", strconv.Itoa(int(max(1, e.during.Seconds())))).Replace(way.command)
	if way.needs != needsThreads {
		x.Role = "operate"
	}
	if way.estimate != nil {
		way.estimate(e, &x)
	}
	if f.plain() {
		x.Costs = strings.Replace(x.Costs, readsTables, readsMemory, 1)
	}
	switch {
	case x.Risk != "low":
	case x.Size >= highSize:
		x.Risk = "high"
	case x.Size >= mediumSize:
		x.Risk = "medium"
	}
	switch {
	case f.plain() && way.needs != needsThreads:
		x.Why = "the process has no recorder"
	case f.past != nil && way.needs != needsThreads:
		x.Why = "this is a file, and no process"
	case way.needs == needsLife && e.view.row.Gone > 0:
		x.Why = "the process is gone"
	case way.name == "incident" && a.options.Incidents == nil:
		x.Why = "vtserve keeps no incidents: vtserve --incidents DIR"
	}
	return x
}
