//go:build unix

package bench

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	crowdSize   = 3_000           // requests that wait at the same time
	crowdWaits  = 5 * time.Second // each of them, in a select of Go's own
	quickEvery  = 5 * time.Millisecond
	crowdLeaves = 20 * time.Second // at the latest, or the load fails
)

// crowdRounds is for [BenchmarkCrowd] what requestRounds is for [BenchmarkRequest].
var crowdRounds = 0

// BenchmarkCrowd reports, for each way to serve, how long it takes until a crowd of requests is answered, all of which wait in a select of Go's, and the
// 99th percentile of the latency of quick requests meanwhile.
func BenchmarkCrowd(b *testing.B) {
	b.Run("requests="+strconv.Itoa(crowdSize), func(b *testing.B) {
		all, quick := map[string]float64{}, map[string]float64{}
		for range b.N {
			crowdRounds++
			for i := range requestKinds {
				kind := requestKinds[(crowdRounds+i)%len(requestKinds)]
				a := askServer(b, kind, "default", task{What: "crowd", N: crowdSize})
				all[kind] += float64(a[0])
				quick[kind] += float64(a[1])
			}
		}
		for _, kind := range requestKinds {
			b.ReportMetric(all[kind]/float64(b.N), kind+"-all-ns")
			b.ReportMetric(quick[kind]/float64(b.N), kind+"-p99-ns")
		}
		b.ReportMetric(0, "ns/op")
	})
}

var addressInLine = regexp.MustCompile(`serving (\S+);`)

// askServer has a load in a process of its own ask a server in another one; both have the variables of env.
func askServer(tb testing.TB, kind, settings string, load task, env ...string) answer {
	tb.Helper()
	return askServers(tb, []string{kind}, settings, load, env...)
}

// askServers is [askServer] of several servers, one of each kind.
func askServers(tb testing.TB, kinds []string, settings string, load task, env ...string) answer {
	tb.Helper()
	servers := make([]*program, len(kinds))
	for i, kind := range kinds {
		var err error
		if servers[i], err = startProgram("serving", selfAs(task{What: "serve", Of: kind}, append(recorderEnv(settings), env...)...)); err != nil {
			tb.Fatal(err)
		}
		m := addressInLine.FindStringSubmatch(servers[i].line)
		if m == nil {
			tb.Fatalf("no address in %q", servers[i].line)
		}
		load.Addresses = append(load.Addresses, m[1])
	}
	load.Address = load.Addresses[0]
	a := ask(tb, load, append([]string{"VTSCOPE=off"}, env...)...)
	for _, server := range servers {
		if err := server.end(); err != nil {
			tb.Fatal(err)
		}
	}
	return a
}

// waits is a handler that waits as Go programs do.
func waits(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(crowdWaits):
		io.WriteString(w, "done")
	case <-r.Context().Done():
	}
}

// crowdOfRequests sends n requests that wait, all at once, and quick ones beside them.
func crowdOfRequests(t task) answer {
	client := &http.Client{Timeout: crowdWaits + crowdLeaves, Transport: &http.Transport{MaxIdleConnsPerHost: t.N}}
	get := func(path string) {
		a, err := client.Get("http://" + t.Address + path)
		if err != nil {
			panic(err)
		}
		defer a.Body.Close()
		if _, err := io.Copy(io.Discard, a.Body); err != nil || a.StatusCode != http.StatusOK {
			panic(a.Status)
		}
	}
	began := time.Now()
	var all sync.WaitGroup
	for range t.N {
		all.Go(func() { get("/waits/tea") })
	}
	over := make(chan struct{})
	go func() {
		all.Wait()
		close(over)
	}()
	var latencies []time.Duration
	tick := time.NewTicker(quickEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			took := time.Since(began)
			slices.Sort(latencies)
			return answer{int64(took), int64(latencies[len(latencies)*99/100])}
		case <-tick.C:
			sent := time.Now()
			get("/plain/tea")
			latencies = append(latencies, time.Since(sent))
		}
	}
}
