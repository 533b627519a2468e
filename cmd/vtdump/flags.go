package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/tracing/profile"
)

// settings is what the arguments ask for.
type settings struct {
	command  command
	target   string
	targeted bool
	more     []string // arguments after the target
	help     bool
	version  bool

	format    string
	top       int
	depth     int
	internal  bool
	spent     bool // --used
	filter    *filter.Filter
	filtered  string // its text
	by        []dump.Dimension
	similar   dump.Similarity
	templates bool
	growth    time.Duration
	every     time.Duration
	again     time.Duration // --watch
	times     int
	diffs     diffFlags
	drill     drill
	limits    limitFlags
	marks     markFlags
	checks    checks
	ascii     bool
	color     string
	width     int

	exporting exportOptions
	profiled  time.Duration // --seconds

	recording recordFlags
	at        string // the moment of a replay
	events    eventFlags

	incident incidentFlags
	memory   memoryFlags
	yes      bool
	remote   remoteFlags
	durable  durableFlags
	adapter  []string // arguments of vtdelve, of dap

	used []*flagRow // flags that were given
}

// A command is what vtdump is asked to do. They are bits, so that a flag can be of several.
type command uint32

const (
	commandList command = 1 << iota
	commandThreads
	commandScheduler
	commandWaits
	commandFindings
	commandSettings
	commandExport
	commandIncident
	commandWatch
	commandOpen
	commandRecord
	commandReplay
	commandEvents
	commandDiff
	commandCheck
	commandCompletion
	commandManual
	commandMark
	commandTop
	commandProfile
	commandDurable
	commandDap
	commandHelp

	endOfCommands
	everyCommand = endOfCommands - 1
)

// A form is a way to call vtdump. Parser, help and docs/cli.md derive from it.
type form struct {
	command command
	word    string // the first argument that is no flag; "" if the command has no name
	target  bool   // it needs one
	more    string // what further arguments are called; "" if it takes none
	about   string
	formats []string
}

var forms = []form{
	{commandList, "", false, "", "list the processes that can be looked at", []string{"text", "json"}},
	{commandThreads, "", true, "", "print the threads of one process, grouped by scope and stack", append([]string{"text", "json", "folded"}, wayNames(false)...)},
	{commandTop, "top", true, "", "show it live on a terminal: scopes, groups, findings; ? tells the keys", []string{"text"}},
	{commandScheduler, "scheduler", true, "", "print its schedulers: figures, delays, carriers, where threads were pinned", []string{"text", "json"}},
	{commandWaits, "waits", true, "", "print who waits for whom: deadlocks first, then what is waited for and who holds it", []string{"text", "json"}},
	{commandDiff, "diff", true, "[TARGET]", "print what changed from the first to the second: files of --json, moments run.vtr@5s, bundles, processes; of one process with --every", []string{"text", "json"}},
	{commandFindings, "findings", true, "", "check it for deadlocks, pins, scopes that grow, storms of threads or timers, and other trouble", []string{"text", "json"}},
	{commandCheck, "check", true, "", "check that it keeps limits, for scripts: --max-threads, --max-growth, --no-pins, --no-deadlock, --no-leaks", []string{"text", "json"}},
	{commandMark, "mark", true, "GROUP MARK", "mark a group as good, suspicious or none in the file of --marks", []string{"text"}},
	{commandDurable, "durable", true, "[ID]", "print the durable threads of a process, a store's folder, a stream, or a file with the bytes of one; or the history of one: each step with its time, attempts and errors", []string{"text", "json"}},
	{commandSettings, "settings", true, "[CHANGE ...]", "print what its recorder records of each kind of events, or change it while it runs", []string{"text", "json"}},
	{commandIncident, "incident", true, "", "take an incident bundle of it: all that is known of it now, in one file", []string{"text", "json"}},
	{commandWatch, "watch", true, "", "take an incident bundle whenever one of the rules of --on comes true, until it is gone", []string{"text", "json"}},
	{commandOpen, "open", true, "", "tell the story of an incident bundle, or print a part of it", []string{"text", "json"}},
	{commandRecord, "record", true, "", "write all that it does to a file, until Ctrl-C, its end, or --for", []string{"text", "json"}},
	{commandReplay, "replay", true, "", "print the threads of a recording as they were at a moment", append([]string{"text", "json", "folded"}, wayNames(true)...)},
	{commandEvents, "events", false, "[TARGET]", "print the kinds of events that there are; of a process or a recording its events", []string{"text", "json"}},
	{commandExport, "export", true, "", "write a recording in a format of other tools", exportNames()},
	{commandProfile, "profile", true, "PROFILE", "write a profile for go tool pprof: " + strings.Join(profile.Names(), ", "), profileFormats},
	{commandDap, "dap", false, "", "be a debug adapter for an editor: Delve, with the threads that matter instead of all goroutines", []string{"text"}},
	{commandHelp, "help", false, "[WORD]", "explain a command, with all its flags and how to read its page, or a topic", []string{"text"}},
	{commandCompletion, "completion", true, "", "print what a shell needs to complete calls: bash, zsh or fish", []string{"text"}},
	{commandManual, "manual", false, "", "print the manual page, for man: vtdump manual > vtdump.1", []string{"text"}},
}

// call writes "vtdump [FLAGS] scheduler TARGET".
func (f *form) call() string {
	words := []string{"vtdump", "[FLAGS]", f.word}
	switch {
	case f.command == commandCompletion:
		words = append(words, "SHELL")
	case f.target:
		words = append(words, "TARGET")
	}
	words = append(words, f.more)
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// call writes "vtdump" with the word of the command, if it has one.
func (s *settings) call() string { return strings.TrimSpace("vtdump " + formOf(s.command).word) }

func formOf(c command) *form {
	return &forms[slices.IndexFunc(forms, func(f form) bool { return f.command == c })]
}

// A targetRow is a thing that TARGET can be.
type targetRow struct {
	name, about string
}

var targets = []targetRow{
	{"PID", "the id of a process that runs, hangs, is stopped, or was killed; of a Go program without vtscope, which is shown by its goroutines, of one that runs"},
	{"PROGRAM", "the name of a program, if one process runs it"},
	{"FILE", "a flight file, such as /dev/shm/vtscope-1000/4711-99.flight"},
	{"DUMP", "a file that vtdump --json has written: the threads as they were then"},
	{"TRACES", "a goroutine dump of any Go program or one of the JDK, also of waits, findings, check and diff; - is standard input"},
	{"PPROF-URL", "where a Go program serves package net/http/pprof: http://HOST:PORT/debug/pprof/ is its profile of goroutines, which has neither their ids nor how long they wait; http://HOST:PORT/debug/pprof/goroutine?debug=2 has, and stops the program meanwhile"},
	{"CORE", "a core file of the kernel, of gcore, or of dlv"},
	{"BUNDLE", "an incident bundle: what the process did then"},
	{"DIR", "of durable: the folder of a file store, whether or not a process uses it"},
	{"BYTES", "of durable: a file with what ParkAndSerialize has returned"},
	{"NATS-URL", "of durable: where the servers of a stream are that many keepers share, such as nats://HOST:PORT; several with commas; nats://USER:PASSWORD@HOST:PORT, tls://HOST:PORT"},
	{"HOST:PORT/PID", "a process of an agent: vtserve, or a program with agent/auto; or the address of its page. HOST:PORT is its only process, or else lists them; HOST:PORT/debug/vt is the agent in a program, which HOST:PORT finds too"},
	{"RECORDING", "what vtdump record has written; run.vtr@12s is a moment of it"},
}

// A flagRow is a flag. Parser, help and docs/cli.md derive from it.
type flagRow struct {
	name  string // without "--"
	short string // without "-"; "" for none
	arg   string // what its value is called; "" if it takes none
	about string
	of    command // what it means something to
	set   func(s *settings, value string) error
}

var formats = slices.Concat([]string{"text", "json", "folded"}, wayNames(false), exportNames()) // pprof of profile is one of the ways

var flags = []flagRow{
	{"top", "", "N", "show the N largest groups and sum the others (default 20); of scheduler N lines of each list (default 10); of waits " +
		"N groups (default 10); of diff N that grew and N that shrank (default 10); of durable N threads and groups (default 20), of one thread the newest N steps " +
		"(default 200); 0 shows all, and is the default in json and folded, but for durable",
		commandThreads | commandReplay | commandScheduler | commandWaits | commandDiff | commandDurable,
		func(s *settings, v string) (err error) { s.top, err = natural(v); return }},
	{"depth", "", "N", "show N frames of each stack (default: at most 8, as fit on a small page; of diff 4); 0 shows all", commandThreads | commandReplay | commandDiff,
		func(s *settings, v string) (err error) { s.depth, err = natural(v); return }},
	{"filter", "", "FILTER", "only the threads that match, such as 'scope~\"req/.*\" state=parked wait>30s'; docs/filter.md has the language, also for durable threads", commandThreads | commandReplay | commandDiff | commandCheck | commandTop | commandWaits | commandDurable,
		func(s *settings, v string) error { s.filtered = v; return nil }},
	{"sort", "", "KEY", "of durable the order of threads: " + durableSorts(), commandDurable,
		func(s *settings, v string) (err error) { s.durable.sort, err = dump.ParseDurableSort(v); return }},
	{"values", "", "", "of one durable thread print values whole, on several lines and wider than the page", commandDurable,
		func(s *settings, _ string) error { s.durable.values = true; return nil }},
	{"namespace", "", "NAME", "of durable, of NATS-URL: the namespace in the store's options (default durable)", commandDurable,
		func(s *settings, v string) error { s.durable.namespace = v; return nil }},
	{"creds", "", "FILE", "of durable, of NATS-URL: the file with credentials of NATS (default: the environment)", commandDurable,
		func(s *settings, v string) error { s.durable.creds = v; return nil }},
	{"journals", "", "N", "of durable, of NATS-URL: read the journals of at most N threads (default 10000), first of those that have been as they are for longest; 0 reads all. Of the others the state, the wait and the keeper are known",
		commandDurable,
		func(s *settings, v string) (err error) {
			if s.durable.journals, err = natural(v); s.durable.journals == 0 {
				s.durable.journals = -1 // all
			}
			return
		}},
	{"scope", "", "PATH", "only the scopes of this path and those below: names that follow each other, joined by \"/\", in which \"*\" is any text, such as 'requests/GET*'",
		commandThreads | commandReplay | commandDiff | commandCheck | commandTop | commandWaits,
		func(s *settings, v string) (err error) { s.drill.scope, err = filter.InScope(v); return }},
	{"group", "", "KEY", "only this group, with all that its threads have in common: its key or the beginning of it, or N for the Nth largest", commandThreads | commandReplay,
		func(s *settings, v string) error { s.drill.group = v; return nil }},
	{"thread", "", "ID", "only this thread, with all that is known of it; of events only what it did", commandThreads | commandReplay | commandEvents,
		func(s *settings, v string) (err error) { s.drill.thread, err = threadID(v); return }},
	{"waits", "", "", "of --group, --scope or --filter: whom these threads wait for, who holds that and where the holder is", commandThreads,
		func(s *settings, _ string) error { s.drill.waits = true; return nil }},
	{"locals", "", "", "of --thread: the arguments and local variables of its frames too, inlined ones among them, without stopping it; vtdelve reads them", commandThreads,
		func(s *settings, _ string) error { s.drill.locals = true; return nil }},
	{"events", "", "", "of --thread: what it did, too, as far as it is still known, also if it has ended; of a process the newest 200 events, or --top of them", commandThreads,
		func(s *settings, _ string) error { s.drill.events = true; return nil }},
	{"marks", "", "FILE", "hide the groups that are marked good in FILE, and tell which are suspicious; of mark write it (default " + usualMarks + ")",
		commandThreads | commandReplay | commandDiff | commandMark,
		func(s *settings, v string) error { s.marks.file = v; return nil }},
	{"note", "", "TEXT", "of mark: why", commandMark,
		func(s *settings, v string) error { s.marks.note = v; return nil }},
	{"by", "", "LIST", "group by these, the first outermost: scope, stack, state, reason, blocker, name, creator, scheduler, carrier, label:KEY; such as state,scope,stack", commandThreads | commandReplay,
		func(s *settings, v string) (err error) { s.by, err = dump.ParseBy(v); return }},
	{"similar", "", "HOW", "stacks count as one if they have the same lines (the default), functions, or shape: functions but for closures and type arguments; " +
		"of mark functions is the default", commandThreads | commandReplay | commandDiff | commandCheck | commandMark | commandTop,
		func(s *settings, v string) (err error) { s.similar, err = dump.ParseSimilarity(v); return }},
	{"templates", "", "", "fold scopes whose names differ in numbers and ids only (done without it when there are more than 500 lines of scopes)", commandThreads | commandReplay | commandDiff | commandTop,
		func(s *settings, _ string) error { s.templates = true; return nil }},
	{"used", "", "", "tell of each scope how many of its threads have ended, and how long they ran, were ready and parked", commandThreads,
		func(s *settings, _ string) error { s.spent = true; return nil }},
	{"all-frames", "", "", "show the frames of vtscope's and Go's runtime too", commandThreads | commandReplay | commandDiff,
		func(s *settings, v string) error { s.internal = true; return nil }},
	{"growth", "", "DURATION", "take two snapshots so far apart, such as 2s, and mark what grew and shrank; of findings compare " +
		"them (default 2s if the process runs)", commandThreads | commandReplay | commandFindings | commandCheck,
		func(s *settings, v string) (err error) { s.growth, err = duration(v); return }},
	{"check", "", "NAME=N", "check NAME of findings finds from N on, a whole number or a duration such as 500ms, or nothing with NAME=off: " + strings.Join(dump.CheckNames(), ", "), commandFindings,
		func(s *settings, v string) error { return s.checks.set(v) }},
	{"max-threads", "", "N", "there are at most N threads", commandCheck,
		func(s *settings, v string) (err error) { s.limits.MaxThreads, err = limit(v); return }},
	{"max-growth", "", "N", "there are at most N threads more than --growth before (default 2s), or with N% at most so many percent more", commandCheck,
		func(s *settings, v string) error { return s.limits.maxGrowth(v) }},
	{"no-pins", "", "", "no thread has blocked and held its carrier, since the process began; with --filter, of the threads that live", commandCheck,
		func(s *settings, _ string) error { s.limits.NoPins = true; return nil }},
	{"no-deadlock", "", "", "no threads wait for each other in a circle; exit code 3 if some waits cannot be judged", commandCheck,
		func(s *settings, _ string) error { s.limits.NoDeadlock = true; return nil }},
	{"no-leaks", "", "PATH", "no thread is left in the scopes of this path, as of --scope, and no such scope without its owner; may be given again", commandCheck,
		func(s *settings, v string) error { return s.limits.noLeaks(v) }},
	{"within", "", "DURATION", "look again for so long, until all limits are kept", commandCheck,
		func(s *settings, v string) (err error) { s.limits.within, err = duration(v); return }},
	{"on", "", "RULE", "a rule such as \"park > 5s in requests\"; may be given again", commandWatch,
		func(s *settings, v string) error { return s.incident.on(v) }},
	{"dir", "", "DIR", "keep bundles there (default: the working directory)", commandIncident | commandWatch,
		func(s *settings, v string) error { s.incident.dir = v; return nil }},
	{"budget", "", "SIZE", "the most that all bundles there may have together, such as 500MiB (default 1GiB): the oldest go", commandIncident | commandWatch,
		func(s *settings, v string) (err error) { s.incident.budget, err = size(v); return }},
	{"every", "", "DURATION", "of watch the shortest time between two bundles of one rule (default 10m); of diff compare the process with itself so long before, again and again; of top how often it looks (default 2s)", commandWatch | commandDiff | commandTop,
		func(s *settings, v string) (err error) { s.every, err = duration(v); return }},
	{"watch", "", "[INTERVAL]", "print again and again, on a terminal in place: --watch is --watch=2s", commandThreads | commandScheduler | commandWaits | commandFindings | commandCheck | commandDurable,
		func(s *settings, v string) (err error) { s.again, err = interval(v); return }},
	{"times", "", "N", "stop after N times of --every or --watch (default: Ctrl-C, or the end of the process)",
		commandDiff | commandThreads | commandScheduler | commandWaits | commandFindings | commandCheck | commandDurable,
		func(s *settings, v string) (err error) { s.times, err = natural(v); return }},
	{"fail-on", "", "LIST", "exit with 1 if scopes or groups changed so: new, gone, grew, shrank; such as grew,new; with --every, at once", commandDiff,
		func(s *settings, v string) (err error) { s.diffs.failOn, err = dump.ParseChanges(v); return }},
	{"least", "", "N", "changes of fewer threads, or scopes, count as none (default 1)", commandDiff,
		func(s *settings, v string) (err error) { s.diffs.least, err = natural(v); return }},
	{"without", "", "PART", "leave a part out, such as cpu; may be given again: " + strings.Join(incident.PartNames(), ", "), commandIncident | commandWatch,
		func(s *settings, v string) error { return s.incident.leaveOut(v) }},
	{"part", "", "PART", "print this part of the bundle, as it is", commandOpen,
		func(s *settings, v string) (err error) { s.incident.part, err = word(v, incident.PartNames()); return }},
	{"format", "f", "FORMAT", "text, json (one document) or folded (for flame graphs); of threads also " + waysText() + "; of export " + strings.Join(exportNames(), " or ") +
		" (default: as the name of the output ends); of profile pprof (the default) or text", everyCommand,
		func(s *settings, v string) (err error) { s.format, err = word(v, formats); return }},
	{"json", "", "", "the same as --format json", everyCommand,
		func(s *settings, v string) error { s.format = "json"; return nil }},
	{"output", "o", "FILE", "write to FILE (default of record and profile: named as the program, of export: as the recording); of export and profile it is there only when it " +
		"is whole, and - is standard output", commandExport | commandRecord | commandProfile,
		func(s *settings, v string) error { s.exporting.output = v; return nil }},
	{"seconds", "", "N", "of profile: what happens in the next N seconds (default 10; of threads and leak what there is now, and with it the difference); of a recording, " +
		"or a process that is gone, in the last N (default: all)", commandProfile,
		func(s *settings, v string) (err error) { s.profiled, err = seconds(v); return }},
	{"for", "", "DURATION", "record so long (default: until Ctrl-C)", commandRecord,
		func(s *settings, v string) (err error) { s.recording.during, err = duration(v); return }},
	{"last", "", "DURATION", "begin with what the process still knows of before, and keep at least so much of the newest, at most twice as much; of watch " +
		"record all the time, so that bundles have so much", commandRecord | commandWatch,
		func(s *settings, v string) (err error) { s.recording.last, err = duration(v); return }},
	{"max-age", "", "DURATION", "keep at least so much of the newest, at most twice as much", commandRecord,
		func(s *settings, v string) (err error) { s.recording.maxAge, err = duration(v); return }},
	{"max-size", "", "SIZE", "keep at most so much, such as 100MB: the oldest goes", commandRecord,
		func(s *settings, v string) (err error) { s.recording.maxSize, err = size(v); return }},
	{"at", "", "TIME", "the moment: 12s after the beginning, -3s before the end, or a time such as 20:31:05 (default: the end)", commandReplay | commandThreads,
		func(s *settings, v string) error { s.at = v; return nil }},
	{"follow", "", "", "print events as they come, until Ctrl-C or the end of the process", commandEvents,
		func(s *settings, v string) error { s.events.follow = true; return nil }},
	{"kind", "", "NAME", "print events of this kind only, such as park, or one of the program's own; may be given again", commandEvents,
		func(s *settings, v string) error { s.events.kinds = append(s.events.kinds, v); return nil }},
	{"stats", "", "", "print how many events of each kind there were", commandEvents,
		func(s *settings, v string) error { s.events.stats = true; return nil }},
	{"cpu-profile", "", "FILE", "of export to jfr: a profile that Go's CPU profiler took meanwhile, for the method profiling of readers", commandExport,
		func(s *settings, v string) error { s.exporting.cpuProfile = v; return nil }},
	{"memory", "", "", "read the memory of the process, without a pause, and the stacks as they are there, even if there is a flight file", inMemory | commandTop,
		func(s *settings, _ string) error { s.memory.read = true; return nil }},
	{"stop", "", "", "stop the process while its memory is read, so that all is of one moment (about 1 µs for each thread)", inMemory,
		func(s *settings, _ string) error { s.memory.Stop = true; return nil }},
	{"yes", "", "", "do what would stop the process for long, or print more than 1 GiB: without it vtdump tells how much, and does not", inMemory | commandReplay,
		func(s *settings, _ string) error { s.yes = true; return nil }},
	{"mounted", "", "", "read its memory, and stop one OS thread at a time, for some microseconds, for the stacks of mounted threads", commandThreads,
		func(s *settings, _ string) error { s.memory.Mounted = true; return nil }},
	{"exe", "", "FILE", "the program that left the core file (default: the file it ran from)", inMemory,
		func(s *settings, v string) error { s.memory.exe = v; return nil }},
	{"scopes", "", "BY", "of the goroutines of a program without vtscope: the go statements that made them (created, the default), labels of the profiler (labels), or the packages of their functions (package)", inMemory | commandTop | commandDiff,
		func(s *settings, v string) (err error) {
			s.memory.scopes, err = word(v, goroutines.ScopeBys)
			return
		}},
	{"token-file", "", "FILE", "of HOST:PORT and PPROF-URL: the token, in a file that only you can read (default of HOST:PORT: VTSCOPE_TOKEN, or the file that VTSCOPE_TOKEN_FILE names)", overHTTP,
		func(s *settings, v string) error { s.remote.tokenFile = v; return nil }},
	{"ca", "", "FILE", "of HOST:PORT, PPROF-URL and NATS-URL: the certificates in PEM that sign the server's (default: the system's)", overHTTP,
		func(s *settings, v string) error { s.remote.ca = v; return nil }},
	{"cert", "", "FILE", "of HOST:PORT, PPROF-URL and NATS-URL: the certificate in PEM by which the server knows you; with --key", overHTTP,
		func(s *settings, v string) error { s.remote.cert = v; return nil }},
	{"key", "", "FILE", "of HOST:PORT, PPROF-URL and NATS-URL: the key of --cert; of durable, of a file with encrypted bytes: the secret of the program", overHTTP,
		func(s *settings, v string) error { s.remote.key = v; return nil }},
	{"listen", "", "ADDRESS", "wait for the editor, such as at 127.0.0.1:38697 or unix:/tmp/dap; port 0 takes a free one (default: it is at standard input and output)", commandDap,
		func(s *settings, v string) error { return s.adapt("listen", v) }},
	{"client-addr", "", "ADDRESS", "call the editor that waits there", commandDap,
		func(s *settings, v string) error { return s.adapt("client-addr", v) }},
	{"connect", "", "ADDRESS", "use the Delve that listens there, such as dlv exec --headless, instead of an own one", commandDap,
		func(s *settings, v string) error { return s.adapt("connect", v) }},
	{"only-same-user", "", "[BOOL]", "with false, also serve other users of this machine, who can then run programs as you", commandDap,
		func(s *settings, v string) error { return s.adapt("only-same-user", v) }},
	{"width", "", "N", "cut lines after N columns (default 100)", everyCommand,
		func(s *settings, v string) (err error) {
			if s.width, err = natural(v); err == nil && s.width < 40 {
				err = fmt.Errorf("want at least 40")
			}
			return
		}},
	{"ascii", "", "", "use no character beyond ASCII", everyCommand,
		func(s *settings, v string) error { s.ascii = true; return nil }},
	{"color", "", "WHEN", "auto (default: on a terminal, unless NO_COLOR is set), always or never", everyCommand,
		func(s *settings, v string) (err error) {
			s.color, err = word(v, []string{"auto", "always", "never"})
			return
		}},
	{"help", "h", "", "explain the command, or vtdump itself, on a page; vtdump help has more", everyCommand,
		func(s *settings, v string) error { s.help = true; return nil }},
	{"version", "", "", "print the versions of vtdump and of the formats it knows", everyCommand,
		func(s *settings, v string) error { s.version = true; return nil }},
}

// unset marks a number that was not given.
const unset = -1

// parse reads the arguments. Flags may stand before and after the others; "--" ends them, and what follows is a target even if it is the word of a
// command.
func parse(args []string) (settings, error) {
	s := settings{command: commandList, format: "text", color: "auto", top: unset, depth: unset}
	onlyTargets := false
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if onlyTargets || len(arg) < 2 || arg[0] != '-' {
			if err := s.argument(arg, onlyTargets); err != nil {
				return s, err
			}
			continue
		}
		if arg == "--" {
			onlyTargets = true
			continue
		}
		name, value, valued := strings.Cut(arg, "=")
		row := findFlag(name)
		if row == nil {
			return s, s.unknownFlag(name)
		}
		switch {
		case row.arg == "" && valued:
			return s, usageError{fmt.Sprintf("%s takes no value", name), "--" + row.name}
		case row.takes() && !valued:
			if len(args) == 0 {
				return s, usageError{fmt.Sprintf("%s needs a value", name), "--" + row.name + " " + row.arg + ": " + row.about}
			}
			value, args = args[0], args[1:]
		}
		err := row.set(&s, value)
		if wrong := (*filter.Error)(nil); errors.As(err, &wrong) {
			return s, wrong
		}
		if err != nil {
			return s, usageError{fmt.Sprintf("%s %q: %v", name, value, err), "--" + row.name + " " + row.arg + ": " + row.about}
		}
		s.used = append(s.used, row)
	}
	if s.help || s.version {
		return s, nil
	}
	return s, s.check()
}

// argument takes an argument that is no flag: the word of a command or a target.
func (s *settings) argument(arg string, target bool) error {
	if !target && s.command == commandList {
		for i := range forms {
			if f := &forms[i]; f.word != "" && f.word == arg {
				s.command = f.command
				return nil
			}
		}
	}
	if s.targeted && (formOf(s.command).more != "" || s.command == commandCompletion && s.target == "words") {
		s.more = append(s.more, arg)
		return nil
	}
	if s.targeted {
		try := "one call for each"
		if _, err := time.ParseDuration(s.target); err == nil && s.again > 0 {
			try = "--watch=" + s.target + " " + arg
		} else if s.command == commandThreads {
			if near := nearest(s.target, commandWords()); near != "" {
				try = "vtdump " + near + " " + arg
			} else {
				try += "; or a command and then the target: vtdump -h lists them"
			}
		}
		return usageError{fmt.Sprintf("more than one target: %q and %q", s.target, arg), try}
	}
	if s.command == commandList {
		s.command = commandThreads
	}
	s.target, s.targeted = arg, true
	return nil
}

func commandWords() []string {
	var words []string
	for i := range forms {
		if w := forms[i].word; w != "" {
			words = append(words, w)
		}
	}
	return words
}

// check reports what does not go together.
func (s *settings) check() error {
	if err := s.parseFilter(); err != nil {
		return err
	}
	f := formOf(s.command)
	if f.target && !s.targeted && s.command == commandExport {
		return usageError{"export needs a recording", "vtdump export run.vtr -o run" + exportFormats[0].endings[0]}
	}
	if f.target && !s.targeted && s.command == commandCompletion {
		return usageError{"completion needs a shell", "vtdump completion bash, zsh or fish"}
	}
	if f.target && !s.targeted {
		return usageError{f.word + " needs a target", "vtdump " + f.word + " PID, or vtdump -- " + f.word + " for a program of this name"}
	}
	refused := func(what string) error {
		if s.command == commandList {
			return usageError{what + " needs a target", "vtdump PID, or vtdump alone for a list"}
		}
		if f.word == "" {
			return usageError{what + " means nothing to vtdump TARGET, which writes to standard output", s.call() + " " + s.target + " --format " + s.format + " > FILE"}
		}
		return usageError{what + " means nothing to " + f.word, s.call() + " " + s.target + " without it"}
	}
	for _, row := range s.used {
		if row.of&s.command == 0 {
			return refused("--" + row.name)
		}
	}
	if s.command == commandExport && !slices.ContainsFunc(s.used, func(r *flagRow) bool { return r.name == "format" || r.name == "json" }) {
		s.format = "" // as the name of the output says
		return nil
	}
	if s.command == commandProfile && !s.given("format") && !s.given("json") {
		s.format = profileFormats[0]
	}
	if !slices.Contains(f.formats, s.format) {
		return refused("--format " + s.format)
	}
	if s.times > 0 && s.every == 0 && s.again == 0 {
		return usageError{"--times needs --watch, or --every of diff", s.call() + " " + s.target + " --watch --times " + strconv.Itoa(s.times)}
	}
	if err := s.drill.check(s); err != nil {
		return err
	}
	return s.narrow()
}

// given reports whether a flag was given.
func (s *settings) given(name string) bool {
	return slices.ContainsFunc(s.used, func(r *flagRow) bool { return r.name == name })
}

func findFlag(name string) *flagRow {
	for i := range flags {
		if row := &flags[i]; name == "--"+row.name || row.short != "" && name == "-"+row.short {
			return row
		}
	}
	return nil
}

func (s *settings) unknownFlag(name string) error {
	names := make([]string, len(flags))
	for i := range flags {
		names[i] = flags[i].name
	}
	try := s.call() + " -h"
	if near := nearest(strings.TrimLeft(name, "-"), names); near != "" {
		try = findFlag("--"+near).usage() + ", or " + try
	}
	return usageError{fmt.Sprintf("unknown flag %s", name), try}
}

// takes reports whether the flag needs a value. One whose value may be left out takes it after "=" alone.
func (r *flagRow) takes() bool { return r.arg != "" && r.arg[0] != '[' }

// usage writes "--top N".
func (r *flagRow) usage() string {
	if r.arg == "" {
		return "--" + r.name
	}
	if !r.takes() {
		return "--" + r.name + "[=" + r.arg[1:]
	}
	return "--" + r.name + " " + r.arg
}

// checks is what the flags --check say.
type checks struct{ dump.CheckOptions }

func (c *checks) set(v string) error { return c.Set(v) }

func natural(v string) (int, error) {
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("want a whole number")
	}
	return int(n), nil
}

func duration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil {
		return 0, fmt.Errorf("want a duration such as 500ms or 2s")
	}
	if d <= 0 || d > time.Hour {
		return 0, fmt.Errorf("want more than 0 and at most 1h")
	}
	return d, nil
}

func word[T ~string](v string, words []T) (T, error) {
	if slices.Contains(words, T(v)) {
		return T(v), nil
	}
	most := ""
	for i, w := range words[:len(words)-1] {
		if i > 0 {
			most += ", "
		}
		most += string(w)
	}
	return "", fmt.Errorf("want %s or %s", most, words[len(words)-1])
}
