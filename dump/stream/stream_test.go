package stream

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

func TestAnAnswerComesBackAsItWas(t *testing.T) {
	list := &dump.Durables{Format: dump.DurablesFormat, Threads: 3, Rows: []journal.DurableRow{{ID: "a", State: journal.Hibernated, Lease: &journal.Lease{Taken: 2}, Inbox: 1}}}
	var b bytes.Buffer
	if err := Write(&b, &Answer{Durables: list}); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&b)
	if err != nil || got.Durables == nil || got.Durables.Threads != 3 || got.Durables.Rows[0].Lease.Taken != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	for kind, is := range Kinds {
		b.Reset()
		if err := Write(&b, &Answer{Problem: &Problem{Kind: kind, Text: "why", Try: "this"}}); err != nil {
			t.Fatal(err)
		}
		_, err := Read(&b)
		var p *Problem
		if !errors.Is(err, is) || !errors.As(err, &p) || p.Try != "this" || err.Error() != "why" {
			t.Errorf("%s: got %v", kind, err)
		}
		for other, not := range Kinds {
			if other != kind && errors.Is(err, not) {
				t.Errorf("%s is %s", kind, other)
			}
		}
	}
	for _, wrong := range []string{"", "{}", `{"format":"vtscope/stream/v1"}`, `{"format":"vtscope/stream/v9","durables":{}}`, "no JSON"} {
		if a, err := Read(strings.NewReader(wrong)); err == nil {
			t.Errorf("%q was taken for %+v", wrong, a)
		}
	}
}

func TestAddressesAreShownWithoutSecrets(t *testing.T) {
	for in, want := range map[string]string{
		"nats://host:4222": "nats://host:4222", "nats://user:pass@host:4222": "nats://host:4222", "tls://token@a,nats://u:p@x@b:1": "tls://a,nats://b:1",
		"nats://h?password=x": "nats://h", "nats://h#x": "nats://h", "nats://u:p@[::1]:4222": "nats://[::1]:4222", "nats://a, host:1": "nats://a,nats://host:1",
	} {
		if got := Shown(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	for target, want := range map[string]bool{"nats://x": true, "tls://x": true, "wss://x": true, "http://x": false, "host:4222": false, "/dir": false, "": false} {
		if Is(target) != want {
			t.Errorf("%s: got %v", target, !want)
		}
	}
}

// A command that answers nothing of ours, or is not there, is an error that says so.
func TestACommandThatIsNoneIsTold(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Ask(t.Context(), Question{URL: "nats://x"}); !errors.Is(err, ErrNoCommand) {
		t.Errorf("got %v, want %v", err, ErrNoCommand)
	}
	if runtime.GOOS == "windows" {
		t.Skip("the rest needs a shell")
	}
	for script, says := range map[string]string{
		"echo wrong >&2; exit 3": "exit status 3: wrong", "echo '{\"format\":\"vtscope/stream/v0\"}'": "build it", "echo '{}'; exit 0": "of another version", "true": "read the answer",
	} {
		path := filepath.Join(t.TempDir(), Command)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t.Context(), path, Question{URL: "nats://x"}); err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(says, "build it", "build "+path)) {
			t.Errorf("%s: got %v, want %q", script, err, says)
		}
	}
}

// What a filter says survives the way to the command.
func TestAFilterIsTextOnItsWay(t *testing.T) {
	for _, text := range []string{"", "state=hibernated wait>1h", `keeper="w1:*" or failed>0`, "-for=address checkout"} {
		f, err := filter.ParseDurable(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := filter.ParseDurable(f.String())
		if err != nil || again.String() != f.String() {
			t.Errorf("%q: got %q, %v", text, f.String(), err)
		}
	}
}

func TestAQuestionIsRead(t *testing.T) {
	q, err := ReadQuestion(strings.NewReader(`{"format":"vtscope/stream/v1","url":"nats://x","thread":"a","look":{"last":3},"more":1}`))
	if err != nil || q.URL != "nats://x" || q.Thread != "a" || q.Look.Last != 3 {
		t.Errorf("got %+v, %v", q, err)
	}
	for _, wrong := range []string{"", "{}", `{"format":"vtscope/stream/v1"}`} {
		if _, err := ReadQuestion(strings.NewReader(wrong)); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
}
