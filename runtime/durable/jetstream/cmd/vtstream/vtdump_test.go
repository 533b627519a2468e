package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/stream"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

const longest = 4 * time.Minute

// commands builds vtdump and vtstream in one folder, and returns what calls vtdump there.
func commands(t *testing.T) (dir string, vtdump func(args ...string) (out, errs string, code int)) {
	t.Helper()
	dir = t.TempDir()
	for module, pkg := range map[string]string{"../../../../..": "./cmd/vtdump", "../..": "./cmd/vtstream"} {
		if out, err := exec.Command("go", "build", "-C", module, "-o", dir+"/", pkg).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", pkg, err, out)
		}
	}
	return dir, func(args ...string) (string, string, int) {
		t.Helper()
		name := "vtdump"
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		cmd := exec.Command(filepath.Join(dir, name), append([]string{"durable"}, args...)...)
		cmd.Env = append(os.Environ(), "PATH="+dir+"-nothing")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
}

// left starts a server with a token, and leaves threads in it: two that wait, one that has ended, one that has failed. No keeper is there any more.
func left(t *testing.T) (url string) {
	t.Helper()
	s, err := jetstream.NewServer(jetstream.ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", Token: "sesame"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	registry := durable.NewRegistry()
	register(t, registry, "checkout", func(th *durable.Thread, order string) (string, error) {
		if _, err := durable.Do(th, "reserve", func(durable.Call) (string, error) { return "chair", errors.New("stock of lamp: 0 left") }); err == nil {
			t.Error("the reservation succeeded")
		}
		return durable.Await[string](th, "address"), nil
	})
	register(t, registry, "refund", func(th *durable.Thread, order string) (int, error) { return 0, errors.New("no account") })
	register(t, registry, "greet", func(th *durable.Thread, order string) (string, error) { return "hello", nil })
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	store, err := jetstream.Open(ctx, jetstream.Options{URL: s.URL(), Name: "w1:4711", Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	k, err := durable.Open(durable.KeeperOptions{Registry: registry, Store: store, HibernateAfter: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for id, body := range map[string]string{"order-1": "checkout", "order-2": "checkout", "order-3": "refund", "order-4": "greet"} {
		if _, err := k.Start(id, body, "x"); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(longest); store.Stats().Trees > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the threads do not hibernate")
		}
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	return s.URL()
}

func register[A, R any](t testing.TB, r *durable.Registry, name string, f func(*durable.Thread, A) (R, error)) {
	t.Helper()
	if err := durable.Register(r, name, f); err != nil {
		t.Fatal(err)
	}
}

// All processes are dead: vtdump tells what their threads wait for, and what each has done.
func TestVtdumpShowsThreadsOfAStream(t *testing.T) {
	dir, vtdump := commands(t)
	url := left(t)
	shown := stream.Shown(url)
	in := []string{url, "--namespace", "shop"}
	has := func(what, text string, wanted ...string) {
		t.Helper()
		for _, w := range wanted {
			if !strings.Contains(text, w) {
				t.Errorf("%s: want %q in\n%s", what, w, text)
			}
		}
		if strings.Contains(text, "sesame") {
			t.Errorf("%s: the token is shown:\n%s", what, text)
		}
	}

	out, errs, code := vtdump(in...)
	if code != 0 {
		t.Fatalf("got exit %d, %s", code, errs)
	}
	has("list", out, shown+"\n", "stream vt-shop of ", "none has a thread, and none was heard of in", "4 durable threads", "hibernated 2", "failed 1", "done 1", `signal "address"`, "1 failed step",
		"error: no account", "last error: stock of lamp: 0 left")

	out, _, _ = vtdump(append(in, "--json", "--filter", "state=hibernated failed>0", "--sort", "id", "--top", "1")...)
	var list dump.Durables
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if list.Format != dump.DurablesFormat || list.Source.Kind != dump.FromStream || list.Threads != 4 || list.Matched != 2 || list.RowsLeft != 1 || len(list.Rows) != 1 || list.Rows[0].ID != "order-1" ||
		list.Rows[0].Lease == nil || list.Rows[0].Lease.Holder != "" || list.Source.Stream.Namespace != "shop" || len(list.Incomplete) > 0 {
		t.Errorf("got %+v\n%s", list, out)
	}
	has("JSON", out)

	out, errs, code = vtdump(append(in, "order-2")...)
	if code != 0 {
		t.Fatalf("got exit %d, %s", code, errs)
	}
	has("history", out, "order-2  checkout", "hibernated for", `waits for   signal "address"`, "held by", "no keeper for", "w1:4711, from", "given back", `do "reserve"`, "error: stock of lamp: 0 left", "waits")
	out, _, _ = vtdump(append(in, "order-4", "--json", "--values")...)
	var one dump.DurableThread
	if err := json.Unmarshal([]byte(out), &one); err != nil || one.Format != dump.DurableThreadFormat || one.Row.State != journal.Done || string(one.Result) != `"hello"` {
		t.Errorf("got %+v, %v in\n%s", one, err, out)
	}

	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{append(in, "order-9"), 1, []string{"order-9: no such durable thread", "for a list"}},
		{[]string{url}, 1, []string{`no durable threads of namespace "durable"`, "try: --namespace shop"}},
		{[]string{shown, "--namespace", "shop"}, 1, []string{"do not allow it", "try: --creds"}},
		{[]string{"nats://127.0.0.1:1"}, 1, []string{"no server lets us in", "connection refused"}},
		{append(in, "--creds", filepath.Join(dir, "none")), 1, []string{"none: no such file"}},
		{append(in, "--key", dir), 2, []string{"--cert and --key go together", "not encrypted"}},
	} {
		out, errs, code := vtdump(c.args...)
		if code != c.code || out != "" {
			t.Errorf("%q: got exit %d, want %d, and\n%s", c.args, code, c.code, out)
		}
		has(fmt.Sprint(c.args[1:]), errs, c.says...)
	}

	name := stream.Command
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	_, errs, code = vtdump(in...)
	if code != 1 {
		t.Errorf("without vtstream: got exit %d", code)
	}
	has("without vtstream", errs, "vtstream, which reads streams, is neither", "try: "+stream.Build)
}

func TestWhoCallsItWrongIsToldWhoCallsIt(t *testing.T) {
	for _, c := range []struct {
		args []string
		in   string
	}{{[]string{"nats://x"}, ""}, {nil, ""}, {nil, "{}"}, {nil, `{"format":"vtscope/stream/v0","url":"nats://x"}`}, {nil, `{"format":"vtscope/stream/v1"}`}} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), c.args, strings.NewReader(c.in), &out, &errs); code != 2 || out.Len() > 0 || !strings.Contains(errs.String(), "vtdump durable nats://HOST:PORT") {
			t.Errorf("%q, %q: got exit %d, %q and %q", c.args, c.in, code, out.String(), errs.String())
		}
	}
}

// What lets us in is in no answer, whatever NATS says of the address.
func TestAProblemShowsNoSecret(t *testing.T) {
	for _, url := range []string{"nats://user:se same@host:4222", "nats://sesame@%zz", "nats://user:sesame@127.0.0.1:1,nats://sesame@127.0.0.1:2"} {
		var out, errs bytes.Buffer
		q, err := json.Marshal(stream.Question{Format: stream.Format, URL: url})
		if err != nil {
			t.Fatal(err)
		}
		code := run(t.Context(), nil, bytes.NewReader(q), &out, &errs)
		if a, err := stream.Read(&out); code != 1 || err == nil || strings.Contains(err.Error()+errs.String(), "same") {
			t.Errorf("%s: got exit %d, %+v, %v, %q", url, code, a, err, errs.String())
		}
	}
}
