package main

import (
	"math"

	"github.com/vtscope/vtscope/internal/figures"
)

// A budget is a row of the table of section 4 of the design, or a limit of an issue.
type budget struct {
	name  string
	of    figures.Metric
	over  figures.Metric // the peer; none: the figure stands for itself
	form  form
	limit float64
}

func metric(benchmark, unit string) figures.Metric {
	return figures.Metric{Benchmark: benchmark, Unit: unit}
}

var none figures.Metric

// unlimited is the limit of what is only compared.
var unlimited = math.Inf(1)

// ns names the time of a benchmark.
func ns(benchmark string) figures.Metric { return metric(benchmark, "ns/op") }

// beside is the budget of a benchmark's threads against its goroutines.
func beside(name, benchmark, unit string, limit float64) budget {
	return budget{name, metric(benchmark+"/impl=vthread", unit), metric(benchmark+"/impl=goroutine", unit), ratio, limit}
}

// cheaper is the budget of what our recorder costs, with some settings, against what Go's own trace does to the same work of goroutines.
func cheaper(name, benchmark, settings, work, unit string, limit float64) budget {
	return budget{name, metric(benchmark+"/recorder="+settings+"/work="+work, unit), metric(benchmark+"/recorder=gotrace/work="+work, unit), ratio, limit}
}

// smaller is the same of the bytes of an event on the disk.
func smaller(name, settings, work string, limit float64) budget {
	b := cheaper(name, "EventBytes", settings, work, "B/event", limit)
	b.form = size
	return b
}

// request is the budget of a request to a server by package vhttp against net/http alone.
func request(name, handler, kind string, limit float64) budget {
	of := "Request/handler=" + handler
	return budget{name, metric(of, kind+"-cpu-ns"), metric(of, "goroutine-cpu-ns"), pair, limit}
}

// served is the budget of a request to the fixture of servers ([serversIn]) against net/http alone.
func served(name, work, kind string, limit float64) budget {
	of := "Servers/work=" + work
	return budget{name, metric(of, kind+"-cpu-ns"), metric(of, "goroutine-cpu-ns"), pair, limit}
}

// crowded is the budget of a server by package vhttp against net/http alone, while a crowd of requests waits.
func crowded(name, kind, what string, limit float64) budget {
	const of = "Crowd/requests=3000"
	return budget{name, metric(of, kind+"-"+what), metric(of, "goroutine-"+what), ratio, limit}
}

// profile is the recorder's part of a work with the settings "profile", which has no limit.
func profile(name, work string) budget {
	return budget{name, ns("Recorder/settings=profile/work=" + work), ns("Recorder/settings=off/work=" + work), added, unlimited}
}

// budgets are those that can be measured so far.
var budgets = []budget{
	{"start+run+join, from a thread / go+WaitGroup", ns("StartJoin/impl=vthread"), ns("StartJoin/impl=goroutine"), ratio, 1.0},
	{"start+run+join, from a goroutine / go+WaitGroup", ns("StartJoinFromGoroutine/impl=vthread"), ns("StartJoinFromGoroutine/impl=goroutine"), ratio, 1.8},
	{"  that the goroutine executes itself / go+WaitGroup", ns("StartJoinHere/impl=vthread"), ns("StartJoinHere/impl=goroutine"), ratio, 1.3},
	{"park/unpark ping-pong / two channels", ns("PingPong/impl=vthread"), ns("PingPong/impl=goroutine"), ratio, 0.9},
	{"yield, 1,000 threads / Gosched", ns("Yield/impl=vthread"), ns("Yield/impl=goroutine"), ratio, 1.8},
	{"recorder's part of start+run+join", ns("Recorder/settings=default/work=startjoin"), ns("Recorder/settings=off/work=startjoin"), added, 0.40},
	{"recorder's part of ping-pong", ns("Recorder/settings=default/work=pingpong"), ns("Recorder/settings=off/work=pingpong"), added, 0.40},
	{"recorder's part of yield", ns("Recorder/settings=default/work=yield"), ns("Recorder/settings=off/work=yield"), added, 0.40},
	profile("  of start+run+join, with profile", "startjoin"),
	profile("  of ping-pong, with profile", "pingpong"),
	profile("  of yield, with profile", "yield"),
	{"event of the program's own, three fields", ns("UserEvents/event=mark/fields=3"), none, nanos, 50},
	{"  its beginning and end, as a span", ns("UserEvents/event=span/fields=3"), none, nanos, 100},
	cheaper("added to a switch of ping-pong / runtime/trace", "Cost", "default", "pingpong", "added-ns", 1.0),
	cheaper("added to a yield / runtime/trace", "Cost", "default", "yield", "added-ns", 1.0),
	cheaper("added to a start / runtime/trace", "Cost", "default", "startjoin", "added-ns", 1.0),
	cheaper("  to a switch, with profile", "Cost", "profile", "pingpong", "added-ns", unlimited),
	cheaper("  to a yield, with profile", "Cost", "profile", "yield", "added-ns", unlimited),
	cheaper("  to a start, with profile", "Cost", "profile", "startjoin", "added-ns", unlimited),
	smaller("disk for an event of ping-pong / runtime/trace", "default", "pingpong", 1.0),
	smaller("disk for an event of yields / runtime/trace", "default", "yield", 1.0),
	smaller("disk for an event of starts / runtime/trace", "default", "startjoin", 1.0),
	smaller("  for an event of ping-pong, with profile", "profile", "pingpong", unlimited),
	smaller("  for an event of yields, with profile", "profile", "yield", unlimited),
	smaller("  for an event of starts, with profile", "profile", "startjoin", unlimited),
	{"HTTP server, CPU of a request, recorder's part", metric("HTTP/handler=plain", "on-cpu-ns"), metric("HTTP/handler=plain", "off-cpu-ns"), part, 0.01},
	{"  of one that forks two threads", metric("HTTP/handler=forks", "on-cpu-ns"), metric("HTTP/handler=forks", "off-cpu-ns"), part, unlimited},
	request("HTTP server, CPU of a request, adopted / net/http", "plain", "adopted", 1.05),
	request("  of one that sleeps 2 ms", "sleeps", "adopted", 1.05),
	request("  on virtual threads / net/http", "plain", "virtual", 1.15),
	request("  of one that sleeps 2 ms", "sleeps", "virtual", 1.15),
	served("  of one that queries SQLite, adopted / net/http", "sqlite", "adopted", 1.05),
	served("  of one that queries PostgreSQL", "postgres", "adopted", 1.05),
	served("  of one that calls another server", "calls", "adopted", 1.05),
	served("  of a reverse proxy", "proxy", "adopted", 1.05),
	served("  of one behind the router chi", "answers", "adopted", unlimited),
	served("  of a message of a websocket", "socket", "adopted", 1.05),
	served("  of a call by gRPC", "grpc", "adopted", unlimited),
	served("  of one that queries SQLite, virtual / net/http", "sqlite", "virtual", 1.15),
	served("  of one that queries PostgreSQL", "postgres", "virtual", 1.15),
	served("  of one that calls another server", "calls", "virtual", 1.15),
	served("  of a reverse proxy", "proxy", "virtual", 1.15),
	served("  of one behind the router chi", "answers", "virtual", unlimited),
	served("  of a message of a websocket", "socket", "virtual", 1.15),
	{"p99 of requests at 80 % of saturation, adopted / net/http", metric("Paced/load=80", "adopted-p99-ns"), metric("Paced/load=80", "goroutine-p99-ns"), ratio, 1.10},
	{"  on virtual threads / net/http", metric("Paced/load=80", "virtual-p99-ns"), metric("Paced/load=80", "goroutine-p99-ns"), ratio, unlimited},
	{"idle connection beyond net/http's, adopted", metric("IdleHTTP/conns=5000", "adopted-B/conn"), metric("IdleHTTP/conns=5000", "goroutine-B/conn"), beyond, 256},
	{"  on virtual threads", metric("IdleHTTP/conns=5000", "virtual-B/conn"), metric("IdleHTTP/conns=5000", "goroutine-B/conn"), beyond, unlimited},
	crowded("3,000 handlers in select for 5 s, adopted / net/http", "adopted", "all-ns", 1.1),
	crowded("  p99 of quick requests beside them", "adopted", "p99-ns", 1.5),
	crowded("  on virtual threads / net/http", "virtual", "all-ns", 1.1),
	crowded("  p99 of quick requests beside them, virtual", "virtual", "p99-ns", 1.5),
	{"carriers of 2 processors, nothing blocked, ten busy processes beside", metric("Busy", "carriers"), none, plain, 4},
	{"parked thread beyond a goroutine, depth 1", metric("MemoryPerThread/depth=1/impl=vthread", "B/thread"), metric("MemoryPerThread/depth=1/impl=goroutine", "B/thread"), beyond, 512},
	{"parked thread beyond a goroutine, depth 20", metric("MemoryPerThread/depth=20/impl=vthread", "B/thread"), metric("MemoryPerThread/depth=20/impl=goroutine", "B/thread"), beyond, 512},
	{"1,000 threads block 10 ms, 2 carriers", metric("Blocked/impl=vthread", "ms/op"), none, millis, 50},
	{"CPU of a sleep, 100,000 cold / goroutines", metric("Sleep/pool=cold/impl=vthread", "cpu-ns/op"), metric("Sleep/pool=cold/impl=goroutine", "cpu-ns/op"), ratio, 0.8},
	{"CPU of a sleep, 100,000 warm", metric("Sleep/pool=warm/impl=vthread", "cpu-ns/op"), none, nanos, 2000},
	{"snapshot of 1,000,000 threads, from outside", metric("Snapshot/threads=1000000", "ms/op"), none, millis, 150},
	{"output of that snapshot", metric("Snapshot/threads=1000000", "output-B"), none, bytes, 16_384},
	{"agent following 1,000,000 events/s and more", metric("Agent/events=1000000", "processors"), none, processors, 0.5},
	{"observing 1,000,000 events/s beside 50 idle", metric("Fleet/events=1000000/idle=50", "processors"), none, processors, 0.5},
	{"  its memory at most", metric("Fleet/events=1000000/idle=50", "peak-MB"), none, megabytes, 200},
	{"  events that were lost", metric("Fleet/events=1000000/idle=50", "%lost"), none, percent, unlimited},
	{"first screen of 1,000,000 threads, but the browser", metric("FirstScreen/threads=1000000", "ms/op"), none, millis, 1000},
	{"what the page loads for it", metric("FirstScreen/threads=1000000", "page-B"), none, bytes, 200_000},
	{"start of 1,000,000 threads (issue 2)", metric("Snapshot/threads=1000000", "start-s"), none, seconds, 10},

	// Issue 4.
	beside("binary tree of 131,071 / go+WaitGroup", "Tree/shape=binary", "ns/op", 1.0),
	beside("Fibonacci tree of 28,657 / go+channel", "Tree/shape=fib", "ns/op", 1.0),
	beside("2 pairs, 1 carrier / channels", "Pairs/pairs=2/carriers=1", "ns/op", 1.0),
	beside("2 pairs, 2 carriers / channels", "Pairs/pairs=2/carriers=2", "ns/op", 1.0),
	beside("100 pairs, 1 carrier / channels", "Pairs/pairs=100/carriers=1", "ns/op", 1.0),
	beside("100 pairs, 2 carriers / channels", "Pairs/pairs=100/carriers=2", "ns/op", 1.0),
	beside("10,000 pairs, 1 carrier / channels", "Pairs/pairs=10000/carriers=1", "ns/op", 1.0),
	beside("10,000 pairs, 2 carriers / channels", "Pairs/pairs=10000/carriers=2", "ns/op", 1.0),
	beside("rings of 100, 1 carrier / channels", "Ring/threads=1000/carriers=1", "ns/op", unlimited),
	beside("rings of 100, 2 carriers / channels", "Ring/threads=1000/carriers=2", "ns/op", unlimited),
	beside("producers and consumers, 1 carrier / channel", "Queue/pairs=10/carriers=1", "ns/op", unlimited),
	beside("producers and consumers, 2 carriers / channel", "Queue/pairs=10/carriers=2", "ns/op", unlimited),
	{"fairness of 1,000 yielders, 1 carrier", metric("Fairness/threads=1000/carriers=1/impl=vthread", "max/min"), none, times, 1.5},
	{"fairness of 1,000 yielders, 2 carriers", metric("Fairness/threads=1000/carriers=2/impl=vthread", "max/min"), none, times, 1.5},
	beside("p99 ready, 100 of 1,000 sleep 1 ms / goroutines", "Mix/threads=1000/block=sleep", "p99-ready-ns", 2.0),
	beside("p99 ready, 100 of 1,000 read 1 ms / goroutines", "Mix/threads=1000/block=read", "p99-ready-ns", 2.0),
	beside("wake-up while 100 of 1,000 sleep / goroutines", "Mix/threads=1000/block=sleep", "ns/op", unlimited),
	beside("wake-up while 100 of 1,000 read / goroutines", "Mix/threads=1000/block=read", "ns/op", unlimited),
	{"idle process, 100,000 parked threads", metric("Idle/threads=100000/park=parked/impl=vthread", "%CPU"), none, percent, 0.5},
	{"idle process, 100,000 threads parked for a time", metric("Idle/threads=100000/park=timed/impl=vthread", "%CPU"), none, percent, 0.5},
	{"set+cancel a timer among 1,000,000", metric("Timers/armed=1000000/impl=vthread", "set+cancel-ns"), none, nanos, 150},
	{"set+cancel a timer before 1,000,000", metric("Timers/armed=1000000/impl=vthread", "set+cancel-first-ns"), none, nanos, 150},
	{"p99 late, 1,000 timers armed", metric("Timers/armed=1000/impl=vthread", "p99-late-ms"), none, millis, 2},
	{"p99 late, 1,000,000 timers armed", metric("Timers/armed=1000000/impl=vthread", "p99-late-ms"), none, millis, 2},

	// Issue 9. Four fifths of their requests a second are five quarters of their time for each.
	beside("echo over 100 connections / net", "Echo/conns=100", "ns/op", 1.25),
	beside("echo over 1,000 connections / net", "Echo/conns=1000", "ns/op", 1.25),
	beside("echo over 10,000 connections / net", "Echo/conns=10000", "ns/op", 1.25),
	beside("  p99 of a request over 100", "Echo/conns=100", "p99-ns", 1.5),
	beside("  p99 of a request over 1,000", "Echo/conns=1000", "p99-ns", 1.5),
	beside("  p99 of a request over 10,000", "Echo/conns=10000", "p99-ns", 1.5),
	beside("  CPU of who asks, over 1,000", "Echo/conns=1000", "cpu-ns/op", unlimited),
	{"idle process, 10,000 connections", metric("IdleConnections/conns=10000/impl=vthread", "%CPU"), none, percent, 0.5},
	{"  the same without any", metric("IdleConnections/conns=0/impl=vthread", "%CPU"), none, percent, unlimited},

	// Issue 11.
	{"step of a durable thread, in memory", ns("DurableStep/store=memory"), none, nanos, unlimited},
	{"  in files, of 1 thread", metric("DurableStep/store=files/threads=1", "ns/step"), none, nanos, unlimited},
	{"  in files, of 10,000 threads", metric("DurableStep/store=files/threads=10000", "ns/step"), none, nanos, unlimited},
	{"  replayed", metric("DurableReplay", "ns/step"), none, nanos, 1000},
	{"a million steps, resumed from their checkpoint", metric("DurableResume", "ms/op"), none, millis, 1000},
	{"p99 resume of one of 100,000 that hibernate", metric("DurableHibernate", "p99-resume-ns"), none, nanos, 1_000_000},
	{"hibernated thread / one that waits", metric("DurableMemory/state=hibernated", "B/thread"), metric("DurableMemory/state=waiting", "B/thread"), size, 0.5},
}

// notYet are the budgets that nothing here can measure, and why.
var notYet = [][2]string{
	{"yield, and the recorder's part, against JDK 25", "there is no JDK where the checks run: see make compare"},
}

// A run is one call of the test binary in each round.
type run struct {
	benchmarks []string
	benchtime  string
	rounds     int // of the first so many rounds only, since it takes long; 0: of all
}

// runs make a round. Blocked and what follows do the same number of operations however long they take.
var runs = []run{
	{[]string{"StartJoin", "StartJoinFromGoroutine", "StartJoinHere", "PingPong", "Yield", "UserEvents"}, "200ms", 0},
	{[]string{"Blocked", "Recorder"}, "3x", 0},
	{[]string{"Cost"}, "2x", 0},
	{[]string{"EventBytes"}, "1x", 2},
	{[]string{"MemoryPerThread", "Sleep", "Agent", "Fleet"}, "1x", 0},
	{[]string{"Tree", "Pairs", "Ring", "Queue", "Fairness", "Mix"}, "1x", 0},
	{[]string{"Idle", "IdleConnections", "Timers"}, "1x", 3},
	{[]string{"Echo"}, "1x", 0},
	{[]string{"Paced"}, "1x", 0},
	{[]string{"Crowd", "Busy", "IdleHTTP"}, "1x", 3},
	{[]string{"DurableStep", "DurableReplay"}, "200ms", 0},
	{[]string{"DurableResume", "DurableHibernate"}, "1x", 3},
	{[]string{"DurableMemory"}, "1x", 1}, // by itself: what others leave behind would be counted
}

// once is done for all rounds in one call: the million threads stay from one measurement to the next.
var once = run{[]string{"Snapshot", "FirstScreen"}, "5x", 0}

// pairs are done as often as the flag says, each in one call, in which the ways that are compared take turns to be first.
var pairs = run{[]string{"HTTP", "Request"}, "1x", 0}

// servers is the same of the fixture of servers, a module of its own.
var servers = run{[]string{"Servers"}, "1x", 0}
