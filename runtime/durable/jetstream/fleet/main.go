package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/vtscope/vtscope/internal/ordeal"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
)

func main() {
	if len(os.Args) < 2 || roles[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "fleet: want server, worker or freeze")
		os.Exit(2)
	}
	play(os.Args[1], os.Args[2:])
}

// roles are what a process can be.
var roles = map[string]func(args []string) error{"server": server, "worker": worker, "freeze": freeze}

func play(role string, args []string) {
	if err := roles[role](args); err != nil {
		fmt.Fprintf(os.Stderr, "fleet: %s: %v\n", role, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// flags parses those of a role; unknown ones end the process.
func flags(role string, args []string, define func(f *flag.FlagSet)) {
	f := flag.NewFlagSet("fleet "+role, flag.ExitOnError)
	define(f)
	_ = f.Parse(args) // it exits
}

func server(args []string) error {
	var o jetstream.ServerOptions
	var routes, temporary string
	flags("server", args, func(f *flag.FlagSet) {
		f.StringVar(&o.Dir, "dir", "", "its `folder`")
		f.StringVar(&o.Name, "name", "", "its name")
		f.StringVar(&o.Listen, "listen", "", "where workers connect")
		f.StringVar(&o.ClusterListen, "cluster", "", "where the others connect")
		f.StringVar(&temporary, "temporary", "", "a `folder` that is removed if the starter is gone")
		f.StringVar(&routes, "routes", "", "where all of the cluster listen")
	})
	o.Cluster, o.Routes = "fleet", strings.Split(routes, ",")
	s, err := jetstream.NewServer(o)
	if err != nil {
		return err
	}
	fmt.Println("open")
	if line, _ := bufio.NewReader(os.Stdin).ReadString('\n'); line != "close\n" {
		s.Close()
		if temporary != "" {
			_ = os.RemoveAll(temporary) // others do so too
		}
		return errors.New("nobody is there who wants it")
	}
	s.Close()
	return nil
}

func worker(args []string) error {
	o := jetstream.Options{Namespace: "fleet"}
	var ledger string
	var hibernate time.Duration
	flags("worker", args, func(f *flag.FlagSet) {
		f.StringVar(&o.URL, "url", "", "of the servers")
		f.StringVar(&ledger, "ledger", "", "address")
		f.StringVar(&o.Name, "name", "worker", "its name")
		f.DurationVar(&o.Lease, "lease", 2*time.Second, "how long it may be silent")
		f.DurationVar(&hibernate, "hibernate", 200*time.Millisecond, "how long a thread waits before it is given back")
	})
	return ordeal.Serve(o.Name, ledger, os.Stdin, os.Stdout, func(r *durable.Registry) (ordeal.Fleet, error) {
		s, err := jetstream.Open(context.Background(), o)
		if err != nil {
			return nil, err
		}
		k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: s, HibernateAfter: hibernate})
		if err != nil {
			return nil, err
		}
		return &fleet{k, s}, nil
	})
}

// A fleet is a keeper among others.
type fleet struct {
	*durable.Keeper
	store *jetstream.Store
}

func (f *fleet) Start(id, body string, args any) error {
	_, err := f.Keeper.Start(id, body, args)
	return err
}

func (f *fleet) Signal(id, name string, value any) error {
	return absent(f.Keeper.Signal(id, name, value))
}

func (f *fleet) Unpark(id string) error { return absent(f.Keeper.Unpark(id)) }

func absent(err error) error {
	if errors.Is(err, durable.ErrNone) {
		return ordeal.ErrAbsent
	}
	return err
}

func (f *fleet) Result(id string) (s ordeal.State, err error) {
	b, err := f.Keeper.Result(context.Background(), id)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	return s, err
}

// Close prints what it has done.
func (f *fleet) Close() error {
	s := f.store.Stats()
	err := f.Keeper.Close()
	fmt.Printf("%d commits, %d of them tried again; %d trees taken, %d given back, %d lost; %d signals; last trouble: %v\n", s.Commits, s.Retries, s.Taken, s.Released, s.Lost, s.Received, s.Trouble)
	return err
}

func freeze(args []string) error {
	var pid int
	var d time.Duration
	flags("freeze", args, func(f *flag.FlagSet) {
		f.IntVar(&pid, "pid", 0, "of the process")
		f.DurationVar(&d, "for", 0, "how long")
	})
	return ordeal.Freeze(pid, d, io.Reader(os.Stdin))
}
