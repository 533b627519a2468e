package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// heldTarget, as a target of the tests, is a process with threads that hold their carriers.
const heldTarget = "held"

// held starts a thread that blocks in a channel, one that parks in a pin section, and 100 that sleep; says so, and waits for the end of its
// standard input.
func held() {
	vthread.Main(func() {
		var block chan int
		vthread.Builder{Name: "receiver"}.Start(func() { receive(block) })
		vthread.Builder{Name: "pinned"}.Start(parkPinned)
		for range 100 {
			vthread.Start(func() { vthread.Sleep(time.Hour) })
		}
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = flight.Close()
		os.Exit(0)
	})
}

//go:noinline
func receive(c chan int) { <-c }

//go:noinline
func parkPinned() {
	continuation.Pin()
	vthread.Park()
}

// schedulersDoc is what the tests read of the JSON document.
type schedulersDoc struct {
	Format     string
	Process    struct{ Status string }
	Schedulers []struct {
		ID       int
		Name     string
		Told     bool
		Figures  map[string]uint64
		Reasons  map[string]int
		Carriers []struct {
			State, Name, Reason string
			Thread              uint64
			Place               struct{ Func string }
		}
	}
}

// seesHolds asks vtdump until the figures that the process tells say that two carriers are held.
func seesHolds(t *testing.T, target string) schedulersDoc {
	t.Helper()
	var doc schedulersDoc
	var out string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		out = vtdump(t, "scheduler", "--json", target).out
		doc = schedulersDoc{}
		if json.Unmarshal([]byte(out), &doc) == nil && namesAll(out) && len(doc.Schedulers) == 1 {
			if d := doc.Schedulers[0]; d.Told && d.Figures["held"] >= 2 && d.Reasons["sleep"] == 100 && len(d.Carriers) > 1 && d.Carriers[1].State == "held" {
				return doc
			}
		}
	}
	t.Fatalf("vtdump scheduler --json %s: got\n%s\nwant two carriers held and 100 threads that sleep", target, out)
	return doc
}

// SD-12, SD-13: of a process that runs, is stopped, or was killed, and of a copied file
func TestSchedulerShowsTheLiveDefaultSchedulerAndWhoHoldsItsCarriers(t *testing.T) {
	child, _ := startAs(t, heldTarget)
	pid := strconv.Itoa(child.Process.Pid)
	d := seesHolds(t, pid).Schedulers[0]
	if d.ID == 0 || d.Name != "default" || d.Figures["parallelism"] == 0 || d.Figures["starts"] < 102 {
		t.Errorf("got scheduler %d %q with %v", d.ID, d.Name, d.Figures)
	}
	found := map[string]string{}
	for _, c := range d.Carriers {
		if c.State == "held" && c.Thread > 0 {
			found[c.Name] = c.Reason + " " + c.Place.Func
		}
	}
	if got := found["receiver"]; !strings.HasPrefix(got, "go-operation ") || !strings.HasSuffix(got, "vtdump.receive") {
		t.Errorf("who blocks in a channel: got %q", got)
	}
	if got := found["pinned"]; !strings.HasPrefix(got, "pin-section ") || !strings.HasSuffix(got, "vtdump.parkPinned") {
		t.Errorf("who parks in a pin section: got %q", got)
	}

	shown := regexp.MustCompile(`(?m)^scheduler \d+ "default"   up .*   figures (are|of) .*\n(.*\n)*` +
		` +\d+  held +\S+  #\d+ "receiver" +go-operation +vtdump\.receive scheduler_linux_test\.go:\d+  seen \S+ ago\n`)
	see := func(target, status string) {
		t.Helper()
		out := succeeds(t, "scheduler", "--width", "200", target)
		if !shown.MatchString(out) || !strings.Contains(out, status) || !strings.Contains(out, "parked by ") {
			t.Errorf("want %s and %q in\n%s", shown, status, out)
		}
	}
	inEachState(t, child, see)
	see(filepath.Base(os.Args[0]), "process is gone (")
}
