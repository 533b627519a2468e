package durable_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/internal/ordeal"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// TestMain is also the worker of the ordeal, in processes that the test starts.
func TestMain(m *testing.M) {
	ledger := os.Getenv("VTSCOPE_ORDEAL_LEDGER")
	if ledger == "" {
		leaktest.Main(m)
	}
	err := ordeal.Serve("worker", ledger, os.Stdin, os.Stdout, func(r *durable.Registry) (ordeal.Fleet, error) {
		s, err := durable.NewFileStore(os.Getenv("VTSCOPE_ORDEAL_DIR"), durable.FileOptions{SegmentSize: 200_000}) // small files, so that they are folded
		if err != nil {
			return nil, err
		}
		k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: s, HibernateAfter: 20 * time.Millisecond})
		if err != nil {
			return nil, err
		}
		return ordeal.Alone(k), nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// DU-12: the process is killed again and again, at random, and a ledger outside counts what was done.
func TestWorksSurviveTheDeathOfTheirProcess(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	deaths := 10
	if n, err := strconv.Atoi(os.Getenv("VTSCOPE_DEATHS")); err == nil {
		deaths = n
	}
	seed := rand.Uint64()
	if n, err := strconv.ParseUint(os.Getenv("VTSCOPE_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("VTSCOPE_SEED=%d", seed)
	const pause = 300 * time.Millisecond
	works := ordeal.Works(seed, 100, time.Duration(deaths)*pause/2)
	l, err := ordeal.NewLedger(works)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	seat := &ordeal.Seat{Name: "worker", Command: func() *exec.Cmd {
		c := exec.Command(exe)
		c.Env = append(os.Environ(), "VTSCOPE_ORDEAL_LEDGER="+l.Address(), "VTSCOPE_ORDEAL_DIR="+dir, "VTSCOPE=off")
		return c
	}}
	s := &ordeal.Storm{
		Ledger: l, Seats: []*ordeal.Seat{seat}, Seed: seed, Times: deaths, Pause: pause, Log: t.Logf, Patience: 2 * time.Minute,
		Acts: []ordeal.Act{ordeal.KillCaller(1, 0), ordeal.KillSome(1, 3, 0), ordeal.CloseOne(1, 0)},
	}
	if err := s.Run(context.Background()); err != nil {
		all := journals(t, dir)
		missing := l.Missing()
		for _, id := range missing[:min(5, len(missing))] {
			t.Logf("%s:", id)
			for i, step := range all[id] {
				t.Logf("%4d %+v", i, step)
			}
		}
		t.Fatal(err)
	}
	complaints, figures := l.Verdict(journals(t, dir))
	for _, c := range complaints {
		t.Error(c)
	}
	t.Log(figures)
	if figures.Moved == 0 || figures.Repeated == 0 {
		t.Error("no work was called from two processes, or no call was repeated: nothing was proved")
	}
}

// journals reads those of all works.
func journals(t *testing.T, dir string) map[string][]journal.Step {
	f, err := journal.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]journal.Step{}
	for _, root := range f.Trees.Roots() {
		all[root.ID] = root.Steps
	}
	return all
}
