package main

import (
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump/stream"
)

// A stream is a target of durable alone, and its flags are of it alone; no secret of its address is printed.
func TestAStreamIsATargetOfDurable(t *testing.T) {
	const secret = "nats://user:sesame@127.0.0.1:1"
	fails(t, exitUsage, "vtdump durable nats://127.0.0.1:1", secret)
	fails(t, exitUsage, "vtdump durable nats://127.0.0.1:1", "waits", secret)
	fails(t, exitUsage, "--cert and --key go together", "durable", secret, "--key", "x")
	fails(t, exitUsage, "--token-file is of an agent", "durable", secret, "--token-file", "x")
	fails(t, exitUsage, "--journals is of the list", "durable", secret, "order-1", "--journals", "3")
	for _, flag := range ofStream {
		fails(t, exitUsage, "is no stream", "durable", t.TempDir(), "--"+flag, "3")
	}
	t.Setenv("PATH", t.TempDir())
	fails(t, exitFailed, "try: "+stream.Build, "durable", secret)
	for _, args := range [][]string{{secret}, {"durable", secret}, {"durable", secret, "id"}} {
		if r := vtdump(t, args...); strings.Contains(r.out+r.errors, "sesame") {
			t.Errorf("%q: got %s%s", args, r.out, r.errors)
		}
	}
}

// What flags and the environment say is asked for as commands of NATS do; flags come first.
func TestWhatLetsUsInComesFromFlagsOrTheEnvironment(t *testing.T) {
	env := map[string]string{"NATS_CREDS": "env.creds", "NATS_USER": "u", "NATS_PASSWORD": "p", "NATS_CA": "env.pem", "NATS_CERT": "c", "NATS_KEY": "k", "NATS_NKEY": "n"}
	ask := func(args ...string) stream.Question {
		t.Helper()
		s, err := parse(append([]string{"durable", "nats://x"}, args...))
		if err != nil {
			t.Fatal(err)
		}
		id := ""
		if len(s.more) > 0 {
			id = s.more[0]
		}
		return s.streamQuestion(world{getenv: func(name string) string { return env[name] }}, id)
	}
	if q := ask(); q.Credentials != "env.creds" || q.User != "u" || q.Password != "p" || q.CA != "env.pem" || q.Certificate != "c" || q.Key != "k" || q.NKey != "n" || q.Journals != 0 || q.Top != 0 {
		t.Errorf("of the environment: got %+v", q)
	}
	if q := ask("--creds", "f", "--ca", "a", "--cert", "c2", "--key", "k2"); q.Credentials != "f" || q.CA != "a" || q.Certificate != "c2" || q.Key != "k2" || q.User != "" || q.NKey != "" {
		t.Errorf("of flags: got %+v", q)
	}
	if q := ask("--namespace", "shop", "--filter", "state=failed", "--sort", "steps", "--top", "3", "--journals", "7"); q.Namespace != "shop" || q.Filter != "state=failed" || q.Sort != "steps" || q.Top != 3 || q.Journals != 7 {
		t.Errorf("of the list: got %+v", q)
	}
	if q := ask("--journals", "0", "--top", "0"); q.Journals >= 0 || q.Top >= 0 {
		t.Errorf("of all: got %+v", q)
	}
	if q := ask("order-1", "--top", "5", "--values"); q.Thread != "order-1" || q.Look.Last != 5 || q.Look.Value != 0 {
		t.Errorf("of one: got %+v", q)
	}
}
