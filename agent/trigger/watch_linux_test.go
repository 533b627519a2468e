package trigger_test

import (
	"context"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent/trigger"
	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// begun comes true at the first look.
const begun = "threads > 0"

// watch watches a process until the rule comes true, and returns how. At the first look, first is called.
func watch(t *testing.T, r *flight.Reader, rule string, first func()) trigger.Firing {
	t.Helper()
	rules, err := trigger.ParseRules(begun, rule)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var found *trigger.Firing
	err = trigger.Watch(ctx, r, trigger.Options{Rules: rules, Interval: 50 * time.Millisecond, Fire: func(all []trigger.Firing) {
		for _, f := range all {
			switch f.Rule {
			case rules[0]:
				if first != nil {
					first()
				}
			case rules[1]:
				if found == nil {
					found = &f
				}
				cancel()
			}
		}
	}})
	if found == nil {
		t.Fatalf("it did not come true; the watch ended with %v", err)
	}
	return *found
}

func started(t *testing.T, fixture string, args ...string) (*childtest.Child, *flight.Reader) {
	t.Helper()
	child := childtest.Start(t, "./fixtures/"+fixture, append(args, "-exit-with-stdin")...)
	child.WaitFor(regexp.MustCompile(fixture + `: .*; pid \d+; try: vtdump`))
	return child, child.Flight()
}

func TestEachRuleComesTrueOnAFixtureThatShowsIt(t *testing.T) {
	for _, c := range []struct {
		rule     string
		fixture  string // with its arguments
		first    func(c *childtest.Child)
		what     string
		evidence string
	}{
		{"park > 200ms in requests", "trouble -kind park", nil, "a thread of requests has been parked for ", `waits for mutex "till"`},
		{"park > 200ms", "deadlock", nil, "a thread of root has been parked for ", "in main."},
		{"queued > 200ms", "deadlock -kind carriers", nil, "a thread of root has waited for a carrier for ", "1 thread of root runnable for "},
		{"queue delay p50 > 200ms for 100ms", "deadlock -kind carriers", nil, "this has been so for ", "no queued thread was mounted for "},
		{"starving > 200ms", "deadlock -kind carriers", nil, "scheduler single: 1 queued thread, and none was mounted for ", ""},
		{"pin > 200ms", "trouble -kind pin", nil, "pinned for ", "in main.pin"},
		{"monopoly > 100ms", "trouble -kind monopoly", nil, " computed without a scheduling point for ", ": monopoly"},
		{"threads > 500", "trouble -kind crowd", (*childtest.Child).WriteLine, "there are 1,", "threads of "},
		{"threads doubled in 200ms", "trouble -kind crowd", (*childtest.Child).WriteLine, "more than ", "threads of "},
		{"deadlock", "deadlock", nil, "2 threads wait for each other, for ", `"left" wants mutex "b"`},
		{"finding scope-growth", "leak -rate 1000", nil, "scope server has ", ""},
		{"event trouble.Seen", "trouble -kind mark", (*childtest.Child).WriteLine, "1 event trouble.Seen was recorded", "mark by a goroutine at "},
		{"signal", "trouble", func(c *childtest.Child) { c.Signal(syscall.SIGUSR1) }, "the program has got a signal", "mark by a goroutine at "},
		{"panic", "trouble -kind panic", (*childtest.Child).WriteLine, "the process has died of a panic", " panicked "},
		{"killed", "trouble", func(c *childtest.Child) { c.Signal(syscall.SIGKILL) }, "the process was killed, or has crashed", "signal: killed"},
		{"gone", "trouble", func(c *childtest.Child) { c.Signal(syscall.SIGKILL) }, "the process is gone without having closed its recorder", "its last sign of life"},
	} {
		t.Run(c.rule+" on "+c.fixture, func(t *testing.T) {
			words := strings.Fields(c.fixture)
			child, r := started(t, words[0], words[1:]...)
			f := watch(t, r, c.rule, func() {
				if c.first != nil {
					c.first(child)
				}
			})
			for strings.HasPrefix(c.evidence, "in ") && strings.Contains(strings.Join(f.Evidence, "\n"), ", in 0x") {
				f = watch(t, r, c.rule, nil) // the process names its functions a moment after they have waited
			}
			if !strings.Contains(f.What, c.what) || !strings.Contains(strings.Join(f.Evidence, "\n"), c.evidence) || f.Rule.String() != c.rule {
				t.Errorf("got %q: %q and %q; want %q and %q", f.Rule, f.What, f.Evidence, c.what, c.evidence)
			}
		})
	}
}

func TestNoRuleComesTrueOnAHealthyProgram(t *testing.T) {
	child, r := started(t, "trouble")
	const last = "threads > 0 for 2s"
	rules, err := trigger.ParseRules(last, "park > 200ms in requests", "queued > 20s", "queue delay p99 > 20s", "threads doubled in 500ms", "threads > 100", "pin > 20s",
		"monopoly > 20s", "starving > 20s", "deadlock", "finding scope-growth", "finding holder-gone", "finding unscoped", "event trouble.Seen", "signal", "panic", "killed", "gone")
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	err = trigger.Watch(context.Background(), r, trigger.Options{Rules: rules, Interval: 50 * time.Millisecond, Fire: func(all []trigger.Firing) {
		for _, f := range all {
			if f.Rule.String() != last {
				t.Errorf("%s came true: %s\n%s", f.Rule, f.What, strings.Join(f.Evidence, "\n"))
			} else if !ended {
				ended = true
				child.CloseStdin() // and no rule comes true when it ends
			}
		}
	}})
	if err != nil || !ended {
		t.Errorf("got %v, and it was watched for two seconds: %v", err, ended)
	}
	child.WantExit(0)
}

func TestBadOptionsAreRefused(t *testing.T) {
	rules, err := trigger.ParseRules("deadlock")
	if err != nil {
		t.Fatal(err)
	}
	fire := func([]trigger.Firing) {}
	for _, o := range []trigger.Options{{Fire: fire}, {Rules: rules}, {Rules: rules, Fire: fire, Interval: time.Millisecond}, {Rules: []trigger.Rule{{Name: "x"}}, Fire: fire}} {
		if err := trigger.Watch(context.Background(), nil, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
