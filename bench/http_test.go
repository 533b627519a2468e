//go:build unix

package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vhttp"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

const (
	httpRequests = 10_000 // that are measured, in each process
	httpClients  = 8      // at a time, each with a connection
)

// httpPairs counts the pairs of [BenchmarkHTTP], by handler: which of the two comes first alternates.
var httpPairs = map[string]int{}

// requestRounds counts the rounds of [BenchmarkRequest]: another kind begins each.
var requestRounds = 0

// requestKinds are the ways in which a server serves: net/http alone, and with package vhttp, by the kind of its threads.
var requestKinds = []string{"goroutine", "adopted", "virtual"}

// BenchmarkRequest reports the CPU time for a request of a server on the loopback under load, with the recorder, for each way to serve: fresh processes, one right
// after the other. The handler answers at once, or sleeps for 2 ms as goroutines do.
func BenchmarkRequest(b *testing.B) {
	for _, handler := range []string{"plain", "sleeps"} {
		b.Run("handler="+handler, func(b *testing.B) {
			sum := map[string]float64{}
			for range b.N {
				requestRounds++
				for i := range requestKinds {
					kind := requestKinds[(requestRounds+i)%len(requestKinds)]
					sum[kind] += cpuOfRequest(b, httpRequests, handler, kind, "default")
				}
			}
			for _, kind := range requestKinds {
				b.ReportMetric(sum[kind]/float64(b.N), kind+"-cpu-ns")
			}
			b.ReportMetric(0, "ns/op") // it is mostly the load's
		})
	}
}

// BenchmarkHTTP reports the CPU time for a request of a server on the loopback under load, with the recorder and without: two fresh
// processes, one right after the other. The load is a process too. A request has a virtual thread in a scope (package vhttp), which answers at once, or forks two
// more in a scope of its own, yields, and joins them.
func BenchmarkHTTP(b *testing.B) {
	for _, handler := range []string{"plain", "forks"} {
		b.Run("handler="+handler, func(b *testing.B) {
			sum := map[string]float64{}
			for range b.N {
				order := []string{"default", "off"}
				if httpPairs[handler]++; httpPairs[handler]%2 == 0 {
					order[0], order[1] = order[1], order[0]
				}
				for _, settings := range order {
					sum[settings] += cpuOfRequest(b, httpRequests, handler, "virtual", settings)
				}
			}
			b.ReportMetric(sum["default"]/float64(b.N), "on-cpu-ns")
			b.ReportMetric(sum["off"]/float64(b.N), "off-cpu-ns")
			b.ReportMetric(0, "ns/op") // it is mostly the load's
		})
	}
}

// cpuOfRequest is the CPU time of a server's process for each of n requests, in nanoseconds.
func cpuOfRequest(tb testing.TB, n int, handler, kind, settings string) float64 {
	tb.Helper()
	return float64(askServer(tb, kind, settings, task{What: "load", N: n, Of: handler})[0]) / float64(n)
}

// serve is a shop's server that tells prices. It ends with its standard input.
func serve(t task) answer {
	var (
		lock   vsync.Mutex
		prices = map[string]int{"tea": 3, "cake": 4}
	)
	look := func(what string) func() (int, error) {
		return func() (int, error) {
			lock.Lock()
			defer lock.Unlock()
			return prices[what], nil
		}
	}
	mux := http.NewServeMux()
	tell := func(w http.ResponseWriter, r *http.Request, sum int) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"what": r.PathValue("what"), "sum": sum})
	}
	mux.HandleFunc("GET /plain/{what}", func(w http.ResponseWriter, r *http.Request) {
		sum, err := look(r.PathValue("what"))()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		tell(w, r, sum)
	})
	mux.HandleFunc("GET /sleeps/{what}", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(2 * time.Millisecond)
		tell(w, r, len(r.PathValue("what")))
	})
	mux.HandleFunc("GET /waits/{what}", waits)
	mux.HandleFunc("GET /forks/{what}", func(w http.ResponseWriter, r *http.Request) {
		sum := 0
		err := structured.Run(r.Context(), "prices", func(s *structured.Scope) error {
			tea, cake := structured.Fork(s, look("tea")), structured.Fork(s, look("cake"))
			vthread.Yield()
			if err := s.Join(); err != nil {
				return err
			}
			for _, price := range []*structured.Subtask[int]{tea, cake} {
				n, err := price.Get()
				if err != nil {
					return err
				}
				sum += n
			}
			return nil
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		tell(w, r, sum)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	// The CPU time is asked for beside the threads.
	outer := http.NewServeMux()
	if t.Of == "goroutine" {
		outer.Handle("/", mux)
	} else {
		outer.Handle("/", vhttp.Handler(mux, vhttp.Options{Virtual: t.Of == "virtual"}))
	}
	outer.HandleFunc("GET /memory", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, memory()) })
	outer.HandleFunc("GET /cpu", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, int64(cpu())) })
	server := &http.Server{Handler: outer}
	go server.Serve(listener)
	fmt.Printf("serving %s; pid %d\n", listener.Addr(), os.Getpid())
	io.Copy(io.Discard, os.Stdin)
	if err := server.Close(); err != nil {
		panic(err)
	}
	if err := flight.Close(); err != nil {
		panic(err)
	}
	os.Exit(0)
	return nil
}

// load asks a server for n prices, after a quarter of that to warm up, and returns the CPU time that the server used.
func load(t task) answer {
	runtime.GOMAXPROCS(1)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: httpClients}}
	get := func(path string) []byte {
		answer, err := client.Get("http://" + t.Address + path)
		if err != nil {
			panic(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			panic(fmt.Sprintf("GET %s: %d %v", path, answer.StatusCode, err))
		}
		return body
	}
	ask := func(n int) {
		var all sync.WaitGroup
		for range httpClients {
			all.Go(func() {
				for range n / httpClients {
					get("/" + t.Of + "/tea")
				}
			})
		}
		all.Wait()
	}
	used := func() int64 {
		n, err := strconv.ParseInt(string(get("/cpu")), 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	ask(t.N / 4)
	before := used()
	ask(t.N)
	return answer{used() - before}
}

func TestServersAnswerTheLoad(t *testing.T) {
	answers := func(handler, kind, settings string) {
		if used := cpuOfRequest(t, 80, handler, kind, settings); used <= 0 {
			t.Errorf("%s, %s, recorder %s: got %v ns of CPU for each request", handler, kind, settings, used)
		}
	}
	answers("forks", "virtual", "default")
	answers("forks", "virtual", "off")
	for _, kind := range requestKinds {
		answers("plain", kind, "default")
		answers("sleeps", kind, "default")
	}
}
