package main

import (
	"fmt"
	"strings"

	"github.com/vtscope/vtscope/internal/figures"
)

// A work is what one process measures: a benchmark of package bench, and a word that the Java program knows.
type work struct {
	java     string
	bench    string // without its sub-benchmarks
	rows     []row
	carriers int     // of the JDK; 0: as many as it wants
	once     bool    // it measures the same however long it may take
	recorder contest // the cost of a recorder is the question: measure the JDK with all events too
	since    int     // the JDK's version that it needs; 0: any that is looked for
}

// A row is a line of the table: one figure of the work.
type row struct {
	name string
	sub  string // sub-benchmarks, without impl=
	unit string
	form form
}

// form prints a value.
type form func(v float64) string

func nanos(v float64) string    { return fmt.Sprintf("%.0f ns", v) }
func micros(v float64) string   { return fmt.Sprintf("%.1f µs", v/1e3) }
func millis(v float64) string   { return fmt.Sprintf("%.1f ms", v) }
func inMillis(v float64) string { return millis(v / 1e6) }
func secs(v float64) string     { return fmt.Sprintf("%.1f s", v) }
func bytes(v float64) string    { return fmt.Sprintf("%.0f B", v) }

// works are compared in this order. Where the JDK is faster with one carrier, it has one.
var works = []work{
	{java: "start-join", bench: "StartJoin", carriers: 1, recorder: contest{"startjoin", "a start", 1}, rows: []row{
		{"start + join, from a thread", "", "ns/op", nanos},
	}},
	{java: "start-join-platform", bench: "StartJoinFromGoroutine", rows: []row{
		{"start + join, from a goroutine", "", "ns/op", nanos},
	}},
	{java: "locals", bench: "Locals", carriers: 1, rows: []row{
		{"start + join, no local", "local=none", "ns/op", nanos},
		{"start + join, one local set", "local=set", "ns/op", nanos},
		{"start + join, one inherited and read", "local=inherited", "ns/op", nanos},
	}},
	{java: "ping-pong", bench: "PingPong", carriers: 1, recorder: contest{"pingpong", "a switch of ping-pong", 2}, rows: []row{
		{"park/unpark ping-pong", "", "ns/op", nanos},
	}},
	{java: "yield", bench: "Yield", carriers: 1, recorder: contest{"yield", "a yield", 1}, rows: []row{
		{"yield, 1,000 threads", "", "ns/op", nanos},
	}},
	{java: "deep", bench: "Deep", carriers: 1, rows: []row{
		{"ping-pong at depth 1", "depth=1/climb=false", "ns/op", nanos},
		{"ping-pong at depth 10", "depth=10/climb=false", "ns/op", nanos},
		{"ping-pong at depth 100", "depth=100/climb=false", "ns/op", nanos},
		{"down to depth 100, ping-pong, and back", "depth=100/climb=true", "ns/op", nanos},
	}},
	{java: "blocked", bench: "Blocked", carriers: 2, once: true, since: 22, rows: []row{
		{"1,000 threads block 10 ms, 2 carriers", "", "ms/op", millis},
	}},
	{java: "memory", bench: "MemoryPerThread", once: true, rows: []row{
		{"a parked thread, depth 1", "depth=1", "B/thread", bytes},
		{"a parked thread, depth 20", "depth=20", "B/thread", bytes},
	}},
	{java: "sleep", bench: "Sleep", once: true, rows: []row{
		{"CPU of a sleep, 100,000, cold", "pool=cold", "cpu-ns/op", micros},
		{"CPU of a sleep, 100,000, warm", "pool=warm", "cpu-ns/op", micros},
	}},
	{java: "random-sleep", bench: "RandomSleep", once: true, rows: []row{
		{"1,000,000 random sleeps: CPU", "", "cpu-s", secs},
		{"1,000,000 random sleeps: late, median", "", "p50-late-ms", millis},
		{"1,000,000 random sleeps: late, p99", "", "p99-late-ms", millis},
	}},
	{java: "skynet", bench: "Skynet", once: true, rows: []row{
		{"skynet, 1,000,000 leaves", "", "ms/op", millis},
	}},
	{java: "echo", bench: "Echo", once: true, rows: []row{
		{"echo over 100 connections", "conns=100", "ns/op", micros},
		{"echo over 100 connections: p99 of a request", "conns=100", "p99-ns", inMillis},
		{"echo over 1,000 connections", "conns=1000", "ns/op", micros},
		{"echo over 1,000 connections: p99 of a request", "conns=1000", "p99-ns", inMillis},
		{"echo over 10,000 connections", "conns=10000", "ns/op", micros},
		{"echo over 10,000 connections: p99 of a request", "conns=10000", "p99-ns", inMillis},
	}},
}

// pattern selects the benchmarks of one implementation.
func (w work) pattern(impl string) string {
	p := "^Benchmark" + w.bench + "$/"
	if sub := w.rows[0].sub; sub != "" {
		p += strings.Repeat("./", strings.Count(sub, "/")+1)
	}
	return p + "^impl=" + impl + "$"
}

// metric names the row's figure of one implementation.
func (w work) metric(r row, impl string) figures.Metric {
	name := w.bench
	if r.sub != "" {
		name += "/" + r.sub
	}
	return figures.Metric{Benchmark: name + "/impl=" + impl, Unit: r.unit}
}
