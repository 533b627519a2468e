package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/agent/trigger"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/internal/cli"
	"github.com/vtscope/vtscope/tracing/otel"
)

// settings are what the arguments say.
type settings struct {
	reached
	demo    bool
	threads int
	shop    string
	sources
	local      bool // beside files and other agents too
	goroutines bool // of all Go programs
	scopes     goroutines.ScopeBy

	incidents string // directory
	marks     string // file
	rules     []trigger.Rule
	checks    dump.CheckOptions

	traceURL string
	otlp     string // where to send; "": as the environment says
	sampling []otel.Rule
	profiles time.Duration // 0: not sent

	maxCPU    float64 // of one processor; 0: no limit
	maxMemory uint64  // bytes; 0: no limit
}

// A flagRow is a flag. Parser and help derive from the table.
type flagRow struct {
	name  string
	arg   string // what its value is called; "" if it takes none
	about string
	set   func(s *settings, value string) error
}

var flags = []flagRow{
	{"addr", "ADDR", "listen on this address, HOST:PORT or unix:PATH; port 0 takes any free one; may be given again (default " + defaultAddr + ")", func(s *settings, v string) error {
		s.addrs = append(s.addrs, v)
		return access.CheckAddress(v)
	}},
	{"tls-cert", "FILE", "speak TLS with this certificate, in PEM, which --tls-key belongs to", func(s *settings, v string) error {
		s.cert = v
		return nil
	}},
	{"tls-key", "FILE", "the key of --tls-cert, which only its owner may read", func(s *settings, v string) error {
		s.key = v
		return nil
	}},
	{"client-ca", "FILE", "let in who has a certificate that one of these signed; with the unit \"operate\" they may change things", func(s *settings, v string) error {
		s.clientCA = v
		return nil
	}},
	{"token-file", "FILE", "let in who shows one of these tokens, one a line: read TOKEN, or operate TOKEN; see docs/security.md", func(s *settings, v string) error {
		s.tokenFile = v
		return nil
	}},
	{"host", "NAME", "answer requests for this name too; may be given again", func(s *settings, v string) error {
		s.hosts = append(s.hosts, v)
		return nil
	}},
	{"redact", "RULE", "hide what a rule matches from all, such as 'name=~/card-\\d+/'; may be given again", func(s *settings, v string) error {
		s.redact = append(s.redact, v)
		_, err := access.ParseRules(v)
		return err
	}},
	{"audit", "FILE", "append a line for each action and each refusal, as JSON (default: standard error, as text)", func(s *settings, v string) error {
		s.audit = v
		return nil
	}},
	{"max-cpu", "PART", fmt.Sprintf("save cost above this part of a processor, step by step, and say so on the page; 0: never (default %v)", defaultMaxCPU), func(s *settings, v string) (err error) {
		if s.maxCPU, err = strconv.ParseFloat(v, 64); err != nil || !(s.maxCPU >= 0) || math.IsInf(s.maxCPU, 0) {
			return fmt.Errorf("not a number of processors, such as 0.5")
		}
		return nil
	}},
	{"max-memory", "MB", fmt.Sprintf("the same above so many MB of memory; 0: never (default %d)", defaultMaxMemory>>20), func(s *settings, v string) error {
		n, err := strconv.ParseUint(v, 10, 32)
		if err != nil {
			return fmt.Errorf("not a number of MB")
		}
		s.maxMemory = n << 20
		return nil
	}},
	{"otlp", "URL", "send spans, metrics and log records of what is followed there, such as http://localhost:4318; more by OTEL_… variables: see docs/opentelemetry.md", func(s *settings, v string) error {
		s.otlp = v
		return nil
	}},
	{"trace-url", "URL", "link from threads whose labels name a trace to this address, with {trace} for its id and maybe {span}, such as 'https://jaeger.example/trace/{trace}'", func(s *settings, v string) error {
		s.traceURL = v
		return checkTraceURL(v)
	}},
	{"sampling", "RULES", "which scopes and threads become spans, such as \"requests: keep=0.01 slow=250ms; cache*: off\": see docs/opentelemetry.md", func(s *settings, v string) (err error) {
		s.sampling, err = otel.ParseRules(v)
		return err
	}},
	{"otlp-profiles", "EVERY", "send profiles of waits, too, every so often, such as 1m: the protocol of profiles is in development", func(s *settings, v string) (err error) {
		if s.profiles, err = time.ParseDuration(v); err != nil || s.profiles < time.Second {
			return fmt.Errorf("not a duration of a second at least")
		}
		return nil
	}},
	{"demo", "", "start the fixture shop, a small web shop, as a child process and show it", func(s *settings, v string) error {
		s.demo = v == "true"
		return nil
	}},
	{"threads", "N", "with --demo: about how many threads the shop has (default " + strconv.Itoa(defaultThreads) + ")", func(s *settings, v string) (err error) {
		s.threads, err = strconv.Atoi(v)
		if err != nil || s.threads < 1 {
			return fmt.Errorf("not a positive number")
		}
		return nil
	}},
	{"shop", "FILE", "with --demo: the shop's program (default: shop beside vtserve)", func(s *settings, v string) error {
		s.shop = v
		return nil
	}},
	{"check", "NAME=N", "a check of the page's findings finds from N on, a whole number or a duration such as 500ms, or nothing with NAME=off; may be given again: see docs/findings", func(s *settings, v string) error {
		return s.checks.Set(v)
	}},
	{"connect", "AGENT", "show the processes of another agent too: HOST:PORT, unix:PATH or https://HOST:PORT, and then maybe ,token-file=FILE ,ca=FILE ,cert=FILE ,key=FILE; may be given again", func(s *settings, v string) error {
		return s.connect(v)
	}},
	{"pprof", "URL", "show the goroutines of a program that serves package net/http/pprof, such as http://box:6060/debug/pprof/, and then maybe what --connect takes; each look costs the program, so they are rare; may be given again", func(s *settings, v string) error {
		return s.endpoint(v)
	}},
	{"goroutines", "", "follow the goroutines of all other Go programs of this user too, which are read in their memory, unchanged and without a pause; on Linux", func(s *settings, v string) error {
		s.goroutines = v == "true"
		return nil
	}},
	{"scopes", "BY", "what the scopes of goroutines are: the go statements that made them (created, the default), labels of the profiler (labels), or the packages of their functions (package)", func(s *settings, v string) error {
		s.scopes = goroutines.ScopeBy(v)
		if !slices.Contains(goroutines.ScopeBys, s.scopes) {
			return fmt.Errorf("not one of %v", goroutines.ScopeBys)
		}
		return nil
	}},
	{"local", "", "with --connect, --pprof or a FILE: follow the processes of this machine too", func(s *settings, v string) error {
		s.local = v == "true"
		return nil
	}},
	{"incidents", "DIR", "keep incident bundles there: of --on, and of POST /api/v1/processes/PID/incident", func(s *settings, v string) error {
		s.incidents = v
		return nil
	}},
	{"marks", "FILE", "show what people think of groups, and let operators say it on the page: the file that vtdump mark writes", func(s *settings, v string) error {
		s.marks = v
		return nil
	}},
	{"on", "RULE", "take a bundle of a process when the rule comes true, such as \"park > 5s in requests\"; may be given again: vtdump help rules tells them", func(s *settings, v string) error {
		r, err := trigger.Parse(v)
		s.rules = append(s.rules, r)
		return err
	}},
}

const (
	defaultAddr    = access.DefaultListen
	defaultThreads = 100_000

	defaultMaxCPU    = 0.5
	defaultMaxMemory = 256 << 20
)

// boolRow is a flag without a value.
type boolRow struct{ set func(string) error }

func (b boolRow) String() string     { return "false" }
func (b boolRow) Set(v string) error { return b.set(v) }
func (b boolRow) IsBoolFlag() bool   { return true }

// parse reads the arguments; flags and pids may come in any order. The error is for the user, or
// [flag.ErrHelp].
func parse(args []string) (*settings, error) {
	s := &settings{threads: defaultThreads, maxCPU: defaultMaxCPU, maxMemory: defaultMaxMemory}
	set := flag.NewFlagSet("vtserve", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, row := range flags {
		apply := func(v string) error { return row.set(s, v) }
		if row.arg == "" {
			set.Var(boolRow{apply}, row.name, row.about)
		} else {
			set.Func(row.name, row.about, apply)
		}
	}
	for {
		if err := set.Parse(args); err != nil {
			if name, ok := strings.CutPrefix(err.Error(), unknownFlag); ok {
				return nil, fmt.Errorf("unknown flag --%s", strings.TrimLeft(name, "-"))
			}
			return nil, err
		}
		if set.NArg() == 0 {
			break
		}
		if err := s.add(set.Arg(0)); err != nil {
			return nil, err
		}
		args = set.Args()[1:]
	}
	if err := s.checkSources(); err != nil {
		return nil, err
	}
	if len(s.rules) > 0 && s.incidents == "" {
		return nil, fmt.Errorf("--on needs --incidents DIR")
	}
	return s, nil
}

// about tells what vtserve is.
const about = `Follows processes and serves a page that shows their threads, live.
Without a PID it follows every vtscope process of this user, also those that start later;
of a PID that is any other Go program it shows the goroutines.
A FILE is a recording, an incident bundle, a core file, or a dump: the goroutines that a crash
has printed, in any log, or a thread dump of the JDK. Its process is shown as it was then; of a
recording at its end, or as PROCESS@12s on the page.
`

// calls are the ways to call vtserve.
var calls = []string{"vtserve [flags] [PID... | FILE... | URL...]", "vtserve completion SHELL", "vtserve manual"}

// An example is a call worth knowing.
type example struct{ call, about string }

var examples = []example{
	{"vtserve", "every vtscope process of this user, on http://" + defaultAddr},
	{"vtserve --goroutines", "every other Go program too"},
	{"vtserve 4711", "one process"},
	{"vtserve run.vtr", "what a recording, or an incident bundle, tells of"},
	{"vtserve crash.log", "the goroutines that a crashing program has printed"},
	{"vtserve --pprof http://box:6060/debug/pprof/", "the goroutines of a program that serves package net/http/pprof"},
	{"vtserve --demo", "a small web shop with 100,000 threads"},
	{"vtserve --connect box:7070,token-file=box.token", "what another vtserve, or a program with agent/auto, shows"},
	{"eval \"$(vtserve completion bash)\"", "complete flags and pids"},
	{"vtserve manual | man -l -", "this as a manual page"},
}

func help() string {
	var b strings.Builder
	for i, call := range calls {
		fmt.Fprintf(&b, "%-7s%s\n", []string{"usage:", ""}[min(i, 1)], call)
	}
	b.WriteString("\n" + about + "\nExamples:\n")
	for _, e := range examples {
		fmt.Fprintf(&b, "  %-48s %s\n", e.call, e.about)
	}
	b.WriteString("\nFlags:\n")
	for _, row := range flags {
		fmt.Fprintf(&b, "  %-21s %s\n", strings.TrimSpace("--"+row.name+" "+row.arg), cli.Wrap(row.about, 24, 76))
	}
	fmt.Fprintf(&b, "  %-21s %s\n  %-21s %s\n", "--version", "print the version", "-h, --help", "print this")
	b.WriteString("\nExit codes: 0 done, 1 failed, 2 usage.\nSee also: vtdump -h.\n")
	return b.String()
}

// unknownFlag is what package flag says of a flag that there is none of; the name follows.
const unknownFlag = "flag provided but not defined: -"
