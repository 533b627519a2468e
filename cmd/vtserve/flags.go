package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// settings are what the arguments say.
type settings struct {
	addr    string
	demo    bool
	threads int
	shop    string
	pids    []int
}

// A flagRow is a flag. Parser and help derive from the table.
type flagRow struct {
	name  string
	arg   string // what its value is called; "" if it takes none
	about string
	set   func(s *settings, value string) error
}

var flags = []flagRow{
	{"addr", "ADDR", "listen on this loopback address; port 0 takes any free one (default " + defaultAddr + ")", func(s *settings, v string) error {
		s.addr = v
		return checkAddr(v)
	}},
	{"demo", "", "start the fixture shop, a small web shop, as a child process and show it", func(s *settings, v string) error {
		s.demo = v == "true"
		return nil
	}},
	{"threads", "N", "with --demo: about how many threads the shop has (default " + strconv.Itoa(defaultThreads) + ")", func(s *settings, v string) (err error) {
		s.threads, err = strconv.Atoi(v)
		if err != nil || s.threads < 1 {
			return fmt.Errorf("not a positive number")
		}
		return nil
	}},
	{"shop", "FILE", "with --demo: the shop's program (default: shop beside vtserve)", func(s *settings, v string) error {
		s.shop = v
		return nil
	}},
}

const (
	defaultAddr    = "127.0.0.1:7070"
	defaultThreads = 100_000
)

// boolRow is a flag without a value.
type boolRow struct{ set func(string) error }

func (b boolRow) String() string     { return "false" }
func (b boolRow) Set(v string) error { return b.set(v) }
func (b boolRow) IsBoolFlag() bool   { return true }

// parse reads the arguments; flags and pids may come in any order. The error is for the user, or
// [flag.ErrHelp].
func parse(args []string) (*settings, error) {
	s := &settings{addr: defaultAddr, threads: defaultThreads}
	set := flag.NewFlagSet("vtserve", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, row := range flags {
		apply := func(v string) error { return row.set(s, v) }
		if row.arg == "" {
			set.Var(boolRow{apply}, row.name, row.about)
		} else {
			set.Func(row.name, row.about, apply)
		}
	}
	for {
		if err := set.Parse(args); err != nil {
			return nil, err
		}
		if set.NArg() == 0 {
			break
		}
		pid, err := strconv.Atoi(set.Arg(0))
		if err != nil || pid < 1 {
			return nil, fmt.Errorf("%q is not a pid", set.Arg(0))
		}
		s.pids = append(s.pids, pid)
		args = set.Args()[1:]
	}
	if s.demo && len(s.pids) > 0 {
		return nil, fmt.Errorf("--demo and a pid: choose one")
	}
	return s, nil
}

// checkAddr refuses whatever other machines could reach: the page has no password yet.
func checkAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("not of the form HOST:PORT")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is not a port", port)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return fmt.Errorf("not a loopback address: the page has no password, so other machines must not reach it (ssh -L carries it to another machine)")
	}
	return nil
}

func help() string {
	var b strings.Builder
	b.WriteString("usage: vtserve [flags] [PID...]\n" +
		"Follows vtscope processes and serves a page that shows their threads, live.\n" +
		"Without a PID it follows every vtscope process of this user, also those that start later.\n\n")
	for _, row := range flags {
		fmt.Fprintf(&b, "  %-16s %s\n", strings.TrimSpace("--"+row.name+" "+row.arg), row.about)
	}
	fmt.Fprintf(&b, "  %-16s %s\n", "-h, --help", "print this")
	b.WriteString("\nExit codes: 0 done, 1 failed, 2 usage.\nSee also: vtdump -h.\n")
	return b.String()
}
