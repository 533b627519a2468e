package dump_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestAProcessWithoutThreadsIsNotCalledSeen(t *testing.T) {
	r, err := flight.Open(flighttest.Write(t, flighttest.Spec{}).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const want = "its goroutines are no threads of vtscope, and are not seen here"
	ctx, o := context.Background(), dump.TextOptions{Width: 200}
	pages := map[string]func(b *bytes.Buffer) error{
		"threads": func(b *bytes.Buffer) error {
			s, err := dump.Take(ctx, r, dump.Options{})
			if err != nil || !strings.Contains(s.Process.Unseen, want) {
				t.Errorf("got %v and %+v", err, s)
			}
			return dump.Text(b, s, o)
		},
		"waits": func(b *bytes.Buffer) error {
			w, err := dump.TakeWaits(ctx, r)
			if err != nil {
				return err
			}
			return dump.WaitsText(b, w, o)
		},
		"findings": func(b *bytes.Buffer) error {
			l, err := dump.TakeLook(ctx, r)
			if err != nil {
				return err
			}
			f, err := dump.Check(l, nil, dump.CheckOptions{})
			if err != nil {
				return err
			}
			return dump.FindingsText(b, f, o)
		},
		"check": func(b *bytes.Buffer) error {
			v, err := dump.Judge(ctx, r, dump.Limits{NoDeadlock: true}, nil, dump.Options{})
			if err != nil {
				return err
			}
			if v.Unknown() != 1 {
				t.Errorf("check: got %+v, want that it is unknown", v.Limits)
			}
			return dump.VerdictText(b, v, "shop", o)
		},
	}
	for name, print := range pages {
		var b bytes.Buffer
		if err := print(&b); err != nil || !strings.Contains(b.String(), "\nnot seen: "+want) || strings.Contains(b.String(), "complete") || strings.Contains(b.String(), "no deadlock\n") {
			t.Errorf("%s: got %v and\n%s\nwant %q, and no claim to be complete", name, err, b.String(), want)
		}
	}
}

func TestThreadsThatAFilterHidesAreSeen(t *testing.T) {
	w := takeWaits(t, flighttest.Spec{Stacks: waitStacks, Threads: 1, Thread: oneOf(waiting(0, mutex(1)))})
	if w.Process.Unseen != "" {
		t.Errorf("got %q of a process with a thread", w.Process.Unseen)
	}
}
