//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/internal/ordeal"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// TestMain is also the processes that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		play(os.Args[1], os.Args[2:])
	}
	leaktest.Main(m)
}

// command is a process of a role.
func command(role string, args ...string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c := exec.Command(exe, append([]string{role}, args...)...)
	c.Env = append(os.Environ(), "VTSCOPE=off")
	return c
}

func freezer(pid int, d time.Duration) *exec.Cmd {
	return command("freeze", "-pid", fmt.Sprint(pid), "-for", d.String())
}

// lease is the workers'.
const lease = 2 * time.Second

// Three workers over a cluster of three are killed, frozen and closed at random, and the servers too. Every work ends, and what was recorded happened once.
func TestEveryWorkEndsInAStorm(t *testing.T) {
	long, works, sleeps := 20*time.Second, 100, 8*time.Second
	if text := os.Getenv("VTSCOPE_STORM"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("VTSCOPE_STORM=%q: want how long it lasts", text)
		}
		long, works, sleeps = d, 1000, d/2
	}
	seed := rand.Uint64()
	if n, err := strconv.ParseUint(os.Getenv("VTSCOPE_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("VTSCOPE_SEED=%d", seed)
	c := newCluster(t)
	l, err := ordeal.NewLedger(ordeal.Works(seed, works, sleeps))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	url := strings.Join(c.urls, ",")
	s := &ordeal.Storm{
		Ledger: l, Seed: seed, For: long, Pause: 2 * time.Second, Log: t.Logf, Patience: 2 * patience,
		Acts: []ordeal.Act{
			ordeal.KillCaller(2, 2*time.Second),
			ordeal.KillSome(1, 4, 2*time.Second),
			ordeal.KillSome(2, 3, 2*time.Second),
			ordeal.CloseOne(2, time.Second),
			ordeal.FreezeOne(2, lease*2, freezer),
			{Name: "kill the leader", Weight: 2, Do: c.loseLeader},
			{Name: "freeze the leader", Weight: 1, Do: c.freezeLeader},
			{Name: "freeze all", Weight: 2, Do: c.freezeAll},
		},
	}
	for i := range 3 {
		name := fmt.Sprintf("w%d", i+1)
		s.Seats = append(s.Seats, &ordeal.Seat{Name: name, Command: func() *exec.Cmd {
			return command("worker", "-url", url, "-ledger", l.Address(), "-name", name, "-lease", lease.String())
		}})
	}
	err = s.Run(context.Background())
	journals := readAll(t, url, l.Missing())
	if err != nil {
		missing := l.Missing()
		for _, id := range missing[:min(5, len(missing))] {
			for i, step := range journals[id] {
				t.Logf("%s: %4d %v, open %v, at %v", id, i, &step, step.Open, step.At)
			}
		}
		t.Fatal(err)
	}
	complaints, figures := l.Verdict(journals)
	for _, complaint := range complaints {
		t.Error(complaint)
	}
	t.Log(figures)
	for _, a := range s.Acts {
		if s.Done(a.Name) == 0 {
			t.Errorf("%s: it was never done", a.Name)
		}
	}
	if figures.Moved == 0 || figures.Repeated == 0 {
		t.Error("no work was called from two processes, or no call was repeated: nothing was proved")
	}
}

// readAll reads the journals, and tells of trees that are not over.
func readAll(t *testing.T, url string, missing []string) map[string][]journal.Step {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := jetstream.Open(ctx, jetstream.Options{URL: url, Namespace: "fleet", Room: -1})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer s.Close()
	var trees journal.Trees
	if err := s.Load(func(e journal.Entry) error {
		for _, id := range missing[:min(3, len(missing))] {
			if root, _, _ := strings.Cut(e.Thread, "/"); root == id && e.Op != journal.OpSet {
				t.Logf("%s: %+v", id, e)
			}
		}
		return trees.Apply(&e)
	}); err != nil {
		t.Error(err)
	}
	all := map[string][]journal.Step{}
	for _, root := range trees.Roots() {
		all[root.ID] = root.Steps
	}
	return all
}
