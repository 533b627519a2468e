package vslog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vslog"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// onThread calls f on a thread in a scope, and returns the thread's id.
func onThread(t *testing.T, f func()) (id float64) {
	t.Helper()
	err := structured.Run(t.Context(), "checkout", func(s *structured.Scope) error {
		s.ForkNamed("pay", func() error {
			id = float64(vthread.Current().ID())
			f()
			return nil
		})
		return s.Join()
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func read(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return m
}

func TestARecordTellsItsThreadAndScope(t *testing.T) {
	type key struct{}
	o := vslog.Options{Trace: func(ctx context.Context) (string, string) {
		trace, _ := ctx.Value(key{}).(string)
		return trace, strings.TrimPrefix(trace, "t")
	}}
	ctx := context.WithValue(t.Context(), key{}, "t1")
	for _, c := range []struct {
		name string
		log  func(*slog.Logger)
		want map[string]any // beside thread and scope
	}{
		{"plain", func(l *slog.Logger) { l.Info("paid", "order", "o1") }, map[string]any{"order": "o1"}},
		{"with a trace", func(l *slog.Logger) { l.InfoContext(ctx, "paid") }, map[string]any{"trace_id": "t1", "span_id": "1"}},
		{"in groups", func(l *slog.Logger) { l.With("a", "b").WithGroup("g").With("c", "d").Info("paid", "order", "o1") },
			map[string]any{"a": "b", "g": map[string]any{"c": "d", "order": "o1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			log := slog.New(vslog.New(slog.NewJSONHandler(&out, nil), o))
			id := onThread(t, func() { c.log(log) })
			got := read(t, out.Bytes())
			c.want["thread"], c.want["scope"] = map[string]any{"id": id, "name": "pay"}, "checkout"
			for _, k := range []string{"time", "level", "msg"} {
				delete(got, k)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			out.Reset()
			c.log(log) // on a goroutine
			if got := read(t, out.Bytes()); got["thread"] != nil || got["scope"] != nil {
				t.Errorf("a goroutine's record has %v", got)
			}
		})
	}
}

func TestTheHandlerIsOneAsSlogWantsIt(t *testing.T) {
	for _, on := range []string{"goroutine", "thread"} {
		var out bytes.Buffer
		h := vslog.New(slog.NewJSONHandler(&out, nil), vslog.Options{})
		test := func() {
			err := slogtest.TestHandler(h, func() (all []map[string]any) {
				for line := range bytes.Lines(out.Bytes()) {
					m := read(t, line)
					delete(m, "thread")
					delete(m, "scope")
					all = append(all, m)
				}
				return all
			})
			if err != nil {
				t.Errorf("on a %s: %v", on, err)
			}
		}
		if on == "thread" {
			onThread(t, test)
		} else {
			test()
		}
	}
}

func ExampleNew() {
	plain := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || len(groups) > 0 && a.Key == "id" {
			return slog.Attr{} // which differ from run to run
		}
		return a
	}})
	log := slog.New(vslog.New(plain, vslog.Options{}))
	vthread.Run("refresh prices", func() { log.Info("done", "prices", 12) })
	// Output: level=INFO msg=done prices=12 thread.name="refresh prices"
}
