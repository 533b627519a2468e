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

// budgets are those that can be measured so far.
var budgets = []budget{
	{"start+run+join, from a thread / go+WaitGroup", ns("StartJoin/impl=vthread"), ns("StartJoin/impl=goroutine"), ratio, 1.0},
	{"start+run+join, from a goroutine / go+WaitGroup", ns("StartJoinFromGoroutine/impl=vthread"), ns("StartJoinFromGoroutine/impl=goroutine"), ratio, 1.8},
	{"park/unpark ping-pong / two channels", ns("PingPong/impl=vthread"), ns("PingPong/impl=goroutine"), ratio, 0.9},
	{"yield, 1,000 threads / Gosched", ns("Yield/impl=vthread"), ns("Yield/impl=goroutine"), ratio, 1.8},
	{"recorder's part of start+run+join", ns("Recorder/on=true/work=startjoin"), ns("Recorder/on=false/work=startjoin"), added, 0.40},
	{"recorder's part of ping-pong", ns("Recorder/on=true/work=pingpong"), ns("Recorder/on=false/work=pingpong"), added, 0.40},
	{"recorder's part of yield", ns("Recorder/on=true/work=yield"), ns("Recorder/on=false/work=yield"), added, 0.40},
	{"parked thread beyond a goroutine, depth 1", metric("MemoryPerThread/depth=1/impl=vthread", "B/thread"), metric("MemoryPerThread/depth=1/impl=goroutine", "B/thread"), beyond, 512},
	{"parked thread beyond a goroutine, depth 20", metric("MemoryPerThread/depth=20/impl=vthread", "B/thread"), metric("MemoryPerThread/depth=20/impl=goroutine", "B/thread"), beyond, 512},
	{"1,000 threads block 10 ms, 2 carriers", metric("Blocked/impl=vthread", "ms/op"), none, millis, 50},
	{"CPU of a sleep, 100,000 cold / goroutines", metric("Sleep/pool=cold/impl=vthread", "cpu-ns/op"), metric("Sleep/pool=cold/impl=goroutine", "cpu-ns/op"), ratio, 0.8},
	{"CPU of a sleep, 100,000 warm", metric("Sleep/pool=warm/impl=vthread", "cpu-ns/op"), none, nanos, 2000},
	{"snapshot of 1,000,000 threads, from outside", metric("Snapshot/threads=1000000", "ms/op"), none, millis, 150},
	{"output of that snapshot", metric("Snapshot/threads=1000000", "output-B"), none, bytes, 16_384},
	{"agent following 1,000,000 events/s and more", metric("Agent/events=1000000", "processors"), none, processors, 0.5},
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
}

// notYet are the budgets that nothing here can measure, and why.
var notYet = [][2]string{
	{"yield, and the recorder's part, against JDK 25", "there is no JDK where the checks run: see make compare"},
	{"HTTP server, CPU per request, recorder on / off", "needs sockets whose waits park threads (runtime/vnet), and paired runs"},
}

// A run is one call of the test binary in each round.
type run struct {
	benchmarks []string
	benchtime  string
	rounds     int // of the first so many rounds only, since it takes long; 0: of all
}

// runs make a round. Blocked and what follows do the same number of operations however long they take.
var runs = []run{
	{[]string{"StartJoin", "StartJoinFromGoroutine", "PingPong", "Yield"}, "200ms", 0},
	{[]string{"Blocked", "Recorder"}, "3x", 0},
	{[]string{"MemoryPerThread", "Sleep", "Agent"}, "1x", 0},
	{[]string{"Tree", "Pairs", "Ring", "Queue", "Fairness", "Mix"}, "1x", 0},
	{[]string{"Idle", "Timers"}, "1x", 3},
}

// once is done for all rounds in one call: the million threads stay from one measurement to the next.
var once = run{[]string{"Snapshot", "FirstScreen"}, "5x", 0}
