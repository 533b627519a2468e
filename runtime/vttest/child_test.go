package vttest_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// childEnv makes this program one whose tests are childTests, most of which fail.
const childEnv = "VTTEST_CHILD"

var childTests = []testing.InternalTest{
	{"TestRace", func(t *testing.T) {
		vttest.Run(t, func(t *testing.T) {
			var mu vsync.Mutex
			n := 0
			add := func() {
				mu.Lock()
				was := n
				mu.Unlock()
				mu.Lock()
				n = was + 1
				mu.Unlock()
			}
			a, b := vthread.Start(add), vthread.Start(add)
			a.Join()
			b.Join()
			if n != 2 {
				t.Errorf("got %d, want 2", n)
			}
		})
	}},
	{"TestChannel", func(t *testing.T) {
		vttest.Run(t, func(t *testing.T) {
			<-make(chan int)
		})
	}},
	{"TestPass", func(t *testing.T) {
		vttest.Run(t, func(t *testing.T) {
			a, b := vthread.Start(vthread.Yield), vthread.Start(vthread.Yield)
			a.Join()
			b.Join()
		})
	}},
	{"TestGoroutine", func(t *testing.T) {
		vttest.Run(t, func(t *testing.T) {
			go func() { <-make(chan int) }()
		})
	}},
	{"TestBubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			vttest.Run(t, func(t *testing.T) {})
		})
	}},
	{"TestCleanup", func(t *testing.T) {
		vttest.Run(t, func(t *testing.T) {
			t.Cleanup(func() { t.Error("not clean") })
		})
	}},
	{"TestOtherThread", func(t *testing.T) {
		vttest.Run(t, func(t *testing.T) {
			th := vthread.Start(func() { t.Fatal("fatal in a thread") })
			th.Join()
			vthread.Start(func() { t.Error("went on") }).Join()
		})
	}},
	{"TestSkip", func(t *testing.T) {
		vttest.Run(t, func(t *testing.T) {
			vthread.Start(func() { t.Skip("not today") }).Join()
			t.Error("went on")
		})
		t.Error("went on")
	}},
}

// child executes some of childTests, and returns what it has printed.
func child(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-test.timeout=5m", "-test.v"}, args...)...)
	cmd.Env = append(os.Environ(), childEnv+"=1", "VTSCOPE=off") // its flight file would outlive it
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// scheduleOf is the part of an output that has the steps.
func scheduleOf(output string) string {
	_, steps, _ := strings.Cut(output, "vttest: schedule:\n")
	steps, _, _ = strings.Cut(steps, "--- ")
	return steps
}

func TestAFailurePrintsItsSeedAndTheSeedRepeatsIt(t *testing.T) {
	out, code := child(t, "-test.run=TestRace")
	if code != 1 || !strings.Contains(out, "got 1, want 2") {
		t.Fatalf("got exit code %d, want 1, and\n%s", code, out)
	}
	seed := regexp.MustCompile(`go test -run '\^TestRace\$' -vt\.seed=([0-9a-f]{16})`).FindStringSubmatch(out)
	if seed == nil {
		t.Fatalf("no seed in\n%s", out)
	}
	want := scheduleOf(out)
	t.Setenv("VTSCOPE_SEED", "1") // the flag is stronger
	for _, procs := range []string{"1", "4"} {
		t.Setenv("GOMAXPROCS", procs)
		again, code := child(t, "-test.run=TestRace", "-vt.seed="+seed[1])
		if got := scheduleOf(again); code != 1 || !strings.Contains(again, "schedule 1 of 1 failed") || got != want || want == "" {
			t.Errorf("GOMAXPROCS=%s: got exit code %d, want 1, and\n%swant\n%s", procs, code, again, want)
		}
	}
}

func TestWhatFailsASchedule(t *testing.T) {
	for test, want := range map[string]string{
		"TestChannel":     "thread #1 test blocks in ", // for good
		"TestGoroutine":   "goroutines are left that wait: deadlock: main bubble goroutine has exited but blocked goroutines remain",
		"TestBubble":      "failed: synctest.Run called from within a synctest bubble",
		"TestCleanup":     "not clean",
		"TestOtherThread": "fatal in a thread",
	} {
		out, code := child(t, "-test.run="+test)
		if code != 1 || !strings.Contains(out, want) || !strings.Contains(out, "schedule 1 of 200 failed") || strings.Contains(out, "went on") {
			t.Errorf("%s: got exit code %d, want 1, and %q in\n%s", test, code, want, out)
		}
	}
}

func TestASkipOfTheScheduleSkipsTheTest(t *testing.T) {
	out, code := child(t, "-test.run=TestSkip")
	if code != 0 || !strings.Contains(out, "--- SKIP: TestSkip") || strings.Contains(out, "went on") {
		t.Errorf("got exit code %d, want 0, and\n%s", code, out)
	}
}

func TestFlagAndEnvironmentSetTheNumberOfSchedules(t *testing.T) {
	t.Setenv("VTSCOPE_SCHEDULES", "7")
	if out, code := child(t, "-test.run=TestPass"); code != 0 || !strings.Contains(out, "vttest: 7 schedules passed") {
		t.Errorf("by the environment: got exit code %d, want 0, and\n%s", code, out)
	}
	if out, code := child(t, "-test.run=TestPass", "-vt.schedules=9"); code != 0 || !strings.Contains(out, "vttest: 9 schedules passed") {
		t.Errorf("by the flag: got exit code %d, want 0, and\n%s", code, out)
	}
	t.Setenv("VTSCOPE_SCHEDULES", "few")
	if out, code := child(t, "-test.run=TestPass"); code != 1 || !strings.Contains(out, "vttest: environment: schedules few: ") {
		t.Errorf("wrong: got exit code %d, want 1, and\n%s", code, out)
	}
}
