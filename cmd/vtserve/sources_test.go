package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// recordedFile is a recording of a process with ten threads.
func recordedFile(t *testing.T) string {
	t.Helper()
	file := flighttest.Write(t, flighttest.Spec{Threads: 10, Thread: func(int) flighttest.Thread {
		return flighttest.Thread{State: flight.StateParked, Reason: flight.ReasonSleep}
	}})
	r, err := flight.Open(file.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := filepath.Join(t.TempDir(), "run.vtr")
	store, err := recording.Create(path, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recording.Record(t.Context(), r, store, recording.Options{For: 50 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func list(t *testing.T, url string) []agent.ProcessRow {
	t.Helper()
	r, err := http.Get(url + "/api/v1/processes")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var all agent.ProcessList
	if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all.Processes
}

func TestARecordingAndAnotherAgentAreShown(t *testing.T) {
	one := begin(t, recordedFile(t))
	if all := list(t, one.url); len(all) != 1 || all[0].Status != "recorded" || all[0].Threads != 10 {
		t.Errorf("vtserve run.vtr shows %+v, want the recorded process alone", all)
	}
	two := begin(t, "--connect", strings.TrimPrefix(one.url, "http://"))
	var all []agent.ProcessRow
	for deadline := time.Now().Add(time.Minute); len(all) != 1 || all[0].Threads != 10; time.Sleep(5 * time.Millisecond) {
		if all = list(t, two.url); time.Now().After(deadline) {
			t.Fatalf("after a minute vtserve --connect shows %+v, want the process of the other", all)
		}
	}
	if want := strings.TrimPrefix(one.url, "http://"); all[0].Host != want {
		t.Errorf("the process is at %q, want %q", all[0].Host, want)
	}
	two.end(t)
	one.end(t)
	http.DefaultClient.CloseIdleConnections()
}

func TestADumpAndAProgramThatServesProfilesAreShown(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "crash.log")
	if err := os.WriteFile(dump, []byte("goroutine 7 [chan receive]:\nmain.main()\n\t/src/main.go:12 +0x1d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := httptest.NewServer(http.HandlerFunc(pprof.Index))
	defer program.Close()
	name := strings.TrimPrefix(program.URL, "http://")
	for _, args := range [][]string{{dump, "--pprof", program.URL + "/debug/pprof/"}, {dump, name + "/debug/pprof/goroutine?debug=2"}} {
		v := begin(t, args...)
		found := map[string]agent.ProcessRow{}
		for deadline := time.Now().Add(time.Minute); found[name].Threads == 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("after a minute vtserve %q shows %+v", args, found)
			}
			for _, p := range list(t, v.url) {
				found[p.Key] = p
			}
		}
		if len(found) != 2 || found["crash.log"].Threads != 1 || found["crash.log"].Status != "recorded" || found[name].Status != "running" || !strings.HasPrefix(found[name].Address, program.URL+"/debug/pprof/goroutine") {
			t.Errorf("vtserve %q shows %+v", args, found)
		}
		v.end(t)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestSourcesThatCannotBeShownAreToldWithTheNextStep(t *testing.T) {
	none := filepath.Join(t.TempDir(), "x.txt")
	if err := os.WriteFile(none, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"gone.vtr"}, 2, "neither a pid nor a file"},
		{[]string{"--connect", "box:1,colour=red"}, 2, "token-file=FILE"},
		{[]string{"--pprof", "box:1,colour=red"}, 2, "token-file=FILE"},
		{[]string{"--scopes", "mood"}, 2, "not one of [created labels package]"},
		{[]string{"--pprof", "http://box:1/"}, 2, "no address of package net/http/pprof"},
		{[]string{"http://box:1/debug/pprof/heap"}, 2, "only the profile of goroutines"},
		{[]string{"--addr", "127.0.0.1:0", "--pprof", "http://box:1/debug/pprof/,token-file=/nowhere"}, 1, "/nowhere"},
		{[]string{"--addr", "127.0.0.1:0", "--pprof", "box:1/debug/pprof/", "--pprof", "http://box:1/debug/pprof/"}, 1, "two have this name"},
		{[]string{"--redact", "name=~/x/", none}, 2, "--redact and a file"},
		{[]string{"--redact", "name=~/x/", "--connect", "127.0.0.1:1"}, 2, "--redact and --connect"},
		{[]string{"--addr", "127.0.0.1:0", none}, 1, "no goroutine is in it"},
		{[]string{"--addr", "127.0.0.1:0", "--connect", "nonsense"}, 1, "HOST:PORT"},
	} {
		code, _, stderr := call(c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "    try: ") {
			t.Errorf("vtserve %q: exit code %d, %q; want %d, %q and what to try", c.args, code, stderr, c.code, c.want)
		}
	}
	for address, want := range map[string]string{"box:1": "box:1", "https://box.example:7070/debug/vt": "box.example:7070_debug_vt", "unix:/run/vt.sock": "unix:_run_vt.sock", "[::1]:7070": "::1_:7070"} {
		if got := nameOf(address); got != want {
			t.Errorf("the name of %s is %q, want %q", address, got, want)
		}
	}
}
