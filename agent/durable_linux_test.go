package agent

import (
	"encoding/json"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestDurableThreadsAreServed(t *testing.T) {
	dir := t.TempDir()
	child := childtest.Start(t, "./fixtures/errands", "-dir", dir, "-orders", "3", "-hibernate-after", "100ms", "-exit-with-stdin")
	child.WaitFor(regexp.MustCompile(`errands: .*; pid \d+`))
	file := child.Flight().Process().Path
	a := start(t, Options{Dirs: []string{file[:strings.LastIndexByte(file, os.PathSeparator)]}})
	s := serve(t, a)
	of := s.URL + "/api/v1/processes/" + strconv.Itoa(child.PID()) + "/durable"
	var list dump.Durables
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last list: %+v", list)
		}
	})
	read := func(query string) *dump.Durables {
		list = dump.Durables{}
		if err := json.Unmarshal(get(t, of+query, 200), &list); err != nil {
			t.Fatal(err)
		}
		return &list
	}
	shown(t, a)
	until(t, "all stand where they stay", func() bool { d := read(""); return d.Threads == 12 && d.States[journal.Hibernated] == 9 })
	if d := read("?filter=" + url.QueryEscape("state=failed") + "&sort=id&top=1"); d.Matched != 2 || len(d.Rows) != 1 || d.Rows[0].ID != "refund-1" || d.RowsLeft != 1 {
		t.Errorf("got %+v", d)
	}
	if text := string(get(t, of+"?format=text&top=2", 200)); !strings.Contains(text, "12 durable threads") || !strings.Contains(text, "… 10 more threads") {
		t.Errorf("got\n%s", text)
	}
	var thread dump.DurableThread
	if err := json.Unmarshal(get(t, of+"/order-3?top=2", 200), &thread); err != nil {
		t.Fatal(err)
	}
	if thread.Format != dump.DurableThreadFormat || thread.Row.ID != "order-3" || thread.StepsLeft != 6 || len(thread.Steps) != 2 || thread.Steps[1].Number != 7 || !thread.Steps[1].Open {
		t.Errorf("got %+v", thread)
	}
	if text := string(get(t, of+"/order-3?format=text", 200)); !strings.Contains(text, `reserve`) {
		t.Errorf("got\n%s", text)
	}
	get(t, of+"/order-99", 404)
	get(t, of+"/order-3%2F1", 404) // a child that was joined
	get(t, of+"?filter=scope%3Dx", 400)
	get(t, of+"?sort=size", 400)
	get(t, of+"?depth=1", 400)

	until(t, "the folder has all of it", func() bool { // steps that nobody waits for come there a moment later
		d, err := dump.DurablesOfFolder(dir, dump.DurableOptions{})
		return err == nil && d.Threads == 12
	})
	child.Signal(syscall.SIGSTOP)
	until(t, "the folder is read of a stopped process", func() bool {
		d := read("")
		return d.Source.Kind == dump.FromFolder && d.Source.Path == dir && strings.Contains(d.Source.Why, "stopped") && d.Threads == 12
	})
	child.Signal(syscall.SIGKILL)
	until(t, "a process that is gone cannot be asked", func() bool {
		f := a.find(strconv.Itoa(child.PID()))
		r, err := f.flightReader()
		if err != nil {
			return false
		}
		defer r.Close()
		return !r.Process().Status.Live()
	})
	get(t, of, 503)
}
