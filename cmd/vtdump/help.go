package main

import (
	"fmt"
	"strings"

	"github.com/vtscope/vtscope/agent/trigger"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/cli"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
)

const summary = `vtdump shows what the threads of a vtscope process do: a tree of its scopes with counts, and in each
scope the groups of threads that wait at the same place. It reads the process's flight file, so the
process is not paused, needs not cooperate, and may hang, be stopped, or be gone. vtdump scheduler
shows the schedulers that the threads run on; vtdump waits shows who waits for whom, and finds
deadlocks; vtdump findings checks for other trouble.
`

// An example is a call worth knowing, of a command.
type example struct {
	of          command
	call, about string
}

var examples = []example{
	{commandList, "vtdump", "what is there to look at?"},
	{commandThreads, "vtdump 4711", "what do its threads or goroutines do?"},
	{commandThreads, "vtdump shop --growth 2s", "and what grows meanwhile?"},
	{commandThreads, "vtdump 4711 --top 0 --depth 0 | less", "everything"},
	{commandThreads, "vtdump --json 4711 | jq '.groups[0]'", "the largest group"},
	{commandThreads, "vtdump 4711 --group 3f2a", "what have its threads in common?"},
	{commandThreads, "vtdump 4711 --thread 5123 --events", "what does this one wait for?"},
	{commandDiff, "vtdump diff 4711 --every 5s", "what changes in between?"},
	{commandDiff, "vtdump diff before.json 4711 --fail-on grew --least 100", "does it leak since then?"},
	{commandDiff, "vtdump diff run.vtr@5s run.vtr@9s --similar functions", "what happened in between?"},
	{commandThreads, "vtdump 4711 --watch --top 5", "and from now on?"},
	{commandMark, "vtdump mark 4711 3f2a good --note 'heart beats'", "known: write it to vtdump.marks"},
	{commandThreads, "vtdump 4711 --marks vtdump.marks", "what is left?"},
	{commandTop, "vtdump top 4711", "live, on a terminal"},
	{commandScheduler, "vtdump scheduler 4711", "who holds its carriers?"},
	{commandWaits, "vtdump waits 4711", "who waits for whom, and for ever?"},
	{commandFindings, "vtdump findings 4711", "does it leak threads or scopes?"},
	{commandCheck, "vtdump check 4711 --no-leaks requests --no-deadlock", "is all well at the end?"},
	{commandFindings, "vtdump findings 4711 --growth 1m --check unscoped=off", "slowly?"},
	{commandDurable, "vtdump durable 4711", "what do its durable threads wait for?"},
	{commandDurable, "vtdump durable /var/lib/shop/threads --filter 'wait>24h failed>0'", "and when it is dead?"},
	{commandDurable, "vtdump durable 4711 order-4711", "what has this one done?"},
	{commandDurable, "vtdump durable nats://n1:4222 --filter 'state=runnable'", "and when all processes are?"},
	{commandSettings, "vtdump settings 4711 profile slice.threshold=5ms", "record more, from now on"},
	{commandExport, "vtdump export run.vtr -o run.jfr", "for jfr and JDK Mission Control"},
	{commandProfile, "vtdump profile 4711 park", "where do they wait? for go tool pprof"},
	{commandIncident, "vtdump incident 4711", "keep all that is known of it now"},
	{commandWatch, "vtdump watch 4711 --on 'park > 5s in requests' --dir /tmp", "and when that happens"},
	{commandOpen, "vtdump open shop.vti", "what does the bundle say?"},
	{commandOpen, "vtdump open shop.vti --part waits", "who waited for whom then?"},
	{commandRecord, "vtdump record 4711 -o run.vtr --for 30s", "what does it do meanwhile?"},
	{commandRecord, "vtdump record 4711 --last 60s --max-size 100MB", "what led to it?"},
	{commandReplay, "vtdump replay run.vtr --at 12s", "what did they do then?"},
	{commandEvents, "vtdump events run.vtr --kind pinned --kind slice", "what happened, one line each"},
	{commandDap, "vtdump dap --listen 127.0.0.1:38697", "debug, with threads instead of goroutines"},
	{commandCompletion, "eval \"$(vtdump completion bash)\"", "complete words, pids and scopes"},
	{commandHelp, "vtdump help waits", "its flags, and how to read its page"},
	{commandHelp, "vtdump help target", "what can be looked at?"},
	{commandManual, "vtdump manual | man -l -", "this as a manual page"},
	{commandEvents, "vtdump events", "what events are there?"},
	{commandThreads, "vtdump --format folded 4711 | flamegraph.pl > threads.svg", "a flame graph of where threads wait"},
}

// A helpPart explains the output of commands, or something that has a word of its own.
type helpPart struct {
	of          command
	word        string // that vtdump help takes for it; "": that of its commands
	title, text string
}

var helpParts = []helpPart{
	{commandThreads | commandReplay, "", "Reading the page", `The first line counts all threads, by state. The second says how the data was come by: complete,
or what is missing; and how old it is if the process is gone. Each line of the tree is a scope,
with the threads in it and in the scopes below ("threads") and, where that differs, in itself
("own"). Sibling scopes of one name share a line: "checkout ×312". Below a scope stand its groups:

    x 812 parked 31s..2m  median 40s   sleep   group 3f2a
      shop.(*Store).query       store.go:88
      shop.handleCheckout       checkout.go:41
      … 4 more
      e.g. #5123 "GET /cart" #5130 #5199

812 threads have been parked for 31 s to 2 min, half of them for more than 40 s, because they
sleep; then the innermost frames of the stack they share, and those that have waited longest.
"?" stands for how long where nobody recorded it, as in dumps of goroutines, in which Go gives no
age below a minute; "5m or ?" if that is so of some.
A line "#5123 holds mutex "db"" names a thread of the group that holds a lock for which somebody
waits; locks for which nobody waits are not recorded. --thread ID shows them as "holds".
The key of a group is the same in each call: --group KEY tells more, --thread ID of one thread.
"▲ 12" and "▼ 12" stand for threads more or less since the first snapshot of --growth. Frames of
vtscope's runtime, of Go's runtime and of package iter are hidden unless there are no others.
`},
	{commandDap, "", "Debugging", `An editor starts or calls it, tells what to debug, and sees a list of threads with the one
that stopped, those that had an event of the debugger before, those that were pinned, and a row
for each group of the others. In its console "vt help" lists what can be asked: groups, scopes,
waits, findings, one thread. A breakpoint's condition may be a filter of threads, such as
scope="checkout" name~worker, with an expression of Go behind a semicolon. Delve does the rest.
docs/debugging.md has settings for editors. vtdelve, beside vtdump or on the PATH, does the work.
`},
	{commandDiff, "", "Reading the page of diff", `    ▲ 212  grew    1,000 → 1,212         shop/requests/checkout ×312 → ×340

212 threads more in scopes "checkout", of which there are 340 now. Scopes come first, with the
threads of their own, then the groups: the threads of scopes of one path that have the same stack,
whatever their states. A scope or group that was not there is new, and gone if it is not any more.
What grew comes first, by how much; then what shrank. With --similar functions or shape, builds of
a program with other lines can be compared. A file of --json has the filter of its call.
`},
	{commandMark, "marks", "Marks", `A mark stands in a file that can be committed, a line for each group: good, or suspicious, with a
note. It is of the path of the scope, without numbers and ids, and of the functions of the stack,
so that it holds in other processes and builds; --similar lines or shape changes that. Groups that
are marked good are hidden in dumps and diffs, and counted in a line at the top.
`},
	{commandTop, "", "Keys of top", topKeysText() + `
The first lines have the states, what carriers do, and what happened in a second; "▲ 12" is so
many threads more than at the look before, every two seconds or as --every says.
`},
	{commandScheduler, "", "Reading the page of scheduler", `Of each scheduler that tells figures:

carriers, threads, so far, trouble
             what it says of itself, about every second while it works and when it falls asleep;
             the first line says how old that is
now, parked by
             its threads and why they are parked, as their records say now
delays       from runnable to mounted, sampled; quantiles are at most half too long
slices       from mounted to unmounted, sampled
carrier      each with the thread mounted on it, and for how long; "held" if that thread blocks,
             by what and where; held ones come first. "monopoly": the thread computes for long.

Then, of the whole process:

pinned       where threads blocked and held their carriers, and how many waited for one meanwhile
incidents    the newest events pinned, monopolized and starved
scopes       delays and slices of the time of which the rings of all carriers still hold every
             event, which may be short; and the threads that wait for a carrier now

A place is the innermost call of the program's own; "in" what it called of the standard library.
"near" stands before one that is guessed, because the thread executed meanwhile: the call may have
returned.
`},
	{commandWaits, "", "Reading the page of waits", `Deadlocks stand first: threads and goroutines that wait for each other in a circle without a time
limit, each with what it holds (or is: the thread, the scope) that the one before it wants, what
it wants itself, and where it waits. "more cannot go on because of them" counts those who wait for
them, directly or through others. Then come the groups:

4,021 in requests wait for semaphore "db" (64 permits), for 1m..2m
    at        shop.(*Store).query store.go:88
    e.g.      #60
    made at   shop.open store.go:12
    held by   64, of whom the 8 known are threads of export; #12, parked for 2 m, holds it for 3 m
    at        shop.export export.go:20

4,021 threads in scopes "requests" wait for one semaphore. The first place is that of the one that
has waited longest; who holds the semaphore, and where, comes last. Several things of one kind,
name, place of creation and scope of their holders share a line: "wait for 12 mutexes". "others"
counts threads that wait for nothing that others hold: they sleep, or wait for a socket.

A deadlock is named when each link of the circle is known. Whoever can go on, waits with a time
limit, or is not known breaks it: conditions and channels, which anybody may signal, are in none.
So are Go's own locks, such as sync.Mutex, of which nobody records who holds them: those of vsync
do. "deadlocks: none found among 4 waits that can be judged; 9 cannot (sync.Mutex 9: holders
unknown)" counts them: there may be one among the 9. "no deadlock" alone means that there is none.
`},
	{commandFindings, "", "Reading the page of findings", `Each finding has the name of its check, how bad it is, what was found with evidence, the place
where most of these threads are, since when it has been so at least, some of the threads, what was
measured and from where on it is found, and the page that tells what to do.
A process that runs is looked at twice; what needs that is not judged of one that is stopped or
gone. The checks, with what --check changes:

` + checksText()},
	{commandCheck, "", "Reading the page of check", `Limits that are not kept stand first, with the threads and places that are the reason, and the
call that tells more of them. With --filter they are about the threads that match. A limit is
"unknown", and the exit code 3, if nothing was found against it and not all can be judged, as
--no-deadlock where threads wait for a sync.Mutex or a channel. Tests in Go check the same of
their own process at their end: package dump/dumptest.
`},
	{commandSettings, "", "Reading the page of settings", `Of each kind of events: whether it is recorded, from which duration on, with how many frames of
the stack, one in how many, and how many in a second of each carrier at most; and the default if
that differs. Arguments change it in the process, at once and without a restart: default, profile,
off or a file of settings, then single changes.

KIND=on, KIND=off   record it or not
` + propertiesText() + `cpu-time=on         measure how long threads are on a processor; costs system calls at each switch
name=NAME           call these settings so

A KIND with a dot in its name is of the program's own; NAME* stands for all that begin so.
`},
	{commandDurable, "", "Reading the page of durable", `First where the threads were looked up: a process is asked, and looks through its keepers; of one
that does not answer, and of a folder, the files of the store are read as they are, without a
lock. Of a stream (nats://HOST:PORT) the servers are asked what all keepers have, and what nobody
has; no lease is taken and nothing is changed. vtstream does it, beside vtdump or on the PATH. "at
w1 (silent) for 3m": the keeper w1 has the thread, and was not heard of during the look; "?"
stands where a journal was not read (--journals).

Then groups: threads of one body that are in one state and wait for the same, or failed alike;
numbers in names and errors make no difference. Then threads, in the order of --sort:

    order-4711  hibernated  3d2h   12   1.2 kB  checkout  signal "address", 2d left; 1 child

has hibernated for 3 days and 2 hours, has made 12 steps, and its journal has 1.2 kB; it is of the
body "checkout", waits for the signal "address" for 2 days more at most, and has a child that it
has not joined. "overdue 5s": what it waits for should have let it go on 5 s ago.

` + durableStatesText() + `
Of one thread each step has a number, as keys of calls and divergences have it, the time when it
was recorded, and how long the call or the wait took; "5s…" is not over. A checkpoint stands for
the steps before it, which are not kept. A call that is under way is in the folder when it has
lasted a second.
`},
	{commandWatch, "rules", "Rules of watch", `A rule comes true when it is so, and was not so at the look before, a second earlier; with "for",
when it has been so for so long. A bundle is taken then. PATH is names of scopes that follow each
other, joined by "/", in which "*" is any text; "requests" stands for all scopes of that name, and
those below.

` + rulesText()},
	{commandEvents, "", "Reading events", `20:36:24.097653     9  park            #2 "clerk"  reason park  stack shop.(*Crew).rest jobs.go:37

is the time, the carrier on which it happened ("-": none), the kind or the name that the program
gave it, the thread, and the fields that say something. "missing here" stands where events were
overwritten before they were read.
`},
	{commandList, "status", "Status of a process", `running
stopped  by SIGSTOP or a debugger
ended    it closed its flight file
gone     it is not there any more and did not do that: by a signal, a crash, or a return from main
         without vthread.Main or flight.Close. How it ended is told where it is known: to those
         that were watching (Linux 6.15), while its parent has not waited for it, and of a panic
`},
	{0, "json", "JSON", `One document of the format "vtscope/dump/v1" with the same numbers, all frames and all groups;
without a target "vtscope/processes/v1", of scheduler "vtscope/schedulers/v1", of waits
"vtscope/waits/v1", of findings "vtscope/findings/v1", of settings "vtscope/settings/v1", of diff
"vtscope/diff/v1", of check "vtscope/verdict/v1", with --group "vtscope/group/v1", with --thread
"vtscope/thread/v1", of durable "vtscope/durables/v1", of one of them
"vtscope/durable-thread/v1", of record "vtscope/record/v1", of events without a target
"vtscope/events/v1" and with --stats "vtscope/event-stats/v1", of an agent's address
"vtscope/remote-processes/v1", of open "vtscope/incident/v1"; else events are one object on each
line. docs/dump.schema.json is the JSON Schema of all of them. Durations are nanoseconds
and end in _ns. The documentation of package dump describes each field.
`},
	{0, "environment", "Environment", `VTSCOPE_DIR   where flight files lie, if not in the default directory
NO_COLOR      if not empty, no colour unless --color always
NATS_*        of durable, of NATS-URL: what lets us in, as commands of NATS have it:
              ` + strings.ReplaceAll(variables, ", NATS_CA", ",\n              NATS_CA") + `
`},
	{0, "exit-codes", "Exit codes", `0  done
1  failed; standard error says why and what to try. Of waits also: there is a deadlock;
   of findings: there are any; of watch: a rule came true; of diff: something changed as
   --fail-on names; of check: a limit is not kept
2  the call was not understood
3  of check: no limit was found to be broken, but of one it is unknown whether it is kept
`},
}

// durableStatesText explains each state of durable threads.
func durableStatesText() string {
	var b strings.Builder
	for _, s := range journal.States {
		fmt.Fprintf(&b, "%-11s  %s\n", s.State, s.About)
	}
	return b.String()
}

// topKeysText explains each key.
func topKeysText() string {
	var b strings.Builder
	for _, k := range topKeys {
		fmt.Fprintf(&b, "%-12s  %s\n", k.names, k.about)
	}
	return b.String()
}

// rulesText explains each rule.
func rulesText() string {
	var b strings.Builder
	for i := range trigger.Rules {
		r := &trigger.Rules[i]
		fmt.Fprintf(&b, "%s\n    %s\n", r.Syntax(), cli.Wrap(r.About, 4, 90))
	}
	return b.String()
}

// propertiesText explains what can be set of a kind of events.
func propertiesText() string {
	var b strings.Builder
	for _, p := range flight.SettingProperties {
		fmt.Fprintf(&b, "%-18s  %s\n", "KIND."+p.Name+"=", p.About)
	}
	return b.String()
}

// checksText explains each check.
func checksText() string {
	var b strings.Builder
	for i := range dump.Checks {
		c := &dump.Checks[i]
		fmt.Fprintf(&b, "%-15s  %s\n%-15s  (%s, from %s)\n", c.Name, c.About, "", c.Severity, cli.Wrap(c.ThresholdText(), 18, 60))
	}
	return b.String()
}

// docText is docs/cli.md.
func docText() string {
	var b strings.Builder
	b.WriteString("# vtdump\n\n<!-- written by go test ./cmd/vtdump -update from the tables of the command -->\n\n")
	b.WriteString(summary)
	section := func(title string) { fmt.Fprintf(&b, "\n## %s\n\n", title) }
	section("Usage")
	b.WriteString("| call | does |\n|---|---|\n")
	for i := range forms {
		fmt.Fprintf(&b, "| `%s` | %s |\n", forms[i].call(), forms[i].about)
	}
	b.WriteString("\n| TARGET | is |\n|---|---|\n")
	for _, t := range targets {
		fmt.Fprintf(&b, "| %s | %s |\n", t.name, t.about)
	}
	section("Flags")
	b.WriteString("They may stand before or after the other arguments, as `--top 5` or `--top=5`; `--` ends them.\n\n| flag | short | does |\n|---|---|---|\n")
	for i := range flags {
		f := &flags[i]
		short := ""
		if f.short != "" {
			short = "`-" + f.short + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.usage(), short, f.about)
	}
	section("Examples")
	b.WriteString("```\n")
	for _, e := range examples {
		fmt.Fprintf(&b, "%-58s  # %s\n", e.call, e.about)
	}
	b.WriteString("```\n")
	for _, p := range helpParts {
		section(p.title)
		b.WriteString("```\n" + p.text + "```\n")
	}
	return b.String()
}
