package vfile_test

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vfile"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

var fileSize = flag.Int64("vfile.size", 1<<30, "bytes of the file that BenchmarkReadAt reads")

// benchmarked are who reads, and how that is made.
var benchmarked = []struct {
	name    string
	threads bool
	options vfile.Options
}{
	{"goroutines", false, vfile.Options{}},
	{"ring", true, vfile.Options{Way: vfile.Ring}},
	{"helpers", true, vfile.Options{Way: vfile.Helpers}},
	{"ring-untried", true, vfile.Options{Way: vfile.Ring, NoTry: true}},
	{"helpers-untried", true, vfile.Options{Way: vfile.Helpers, NoTry: true}},
}

// BenchmarkReadAt reads 4 KB at random from one file, by 10,000 threads at a time.
func BenchmarkReadAt(b *testing.B) {
	name := filepath.Join(b.TempDir(), "large")
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	chunk := pattern(1 << 20)
	for at := int64(0); at < *fileSize; at += int64(len(chunk)) {
		if _, err := f.Write(chunk); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	for _, by := range benchmarked {
		b.Run("by="+by.name, func(b *testing.B) {
			start := func(f func()) { go f() }
			var file io.ReaderAt
			if by.threads {
				vfile.Use(b, by.options)
				start = func(f func()) { vthread.Start(f) }
				f, err := vfile.Open(name)
				if err != nil {
					b.Fatal(err)
				}
				defer f.Close()
				file = f
			} else {
				f, err := os.Open(name)
				if err != nil {
					b.Fatal(err)
				}
				defer f.Close()
				file = f
			}
			readAtRandom(b, file, start)
		})
	}
}

func readAtRandom(b *testing.B, f io.ReaderAt, start func(func())) {
	const readers, page = 10_000, 4096
	each := max(b.N/readers, 1)
	var mu sync.Mutex
	var times []time.Duration
	done := vsync.NewLatch(readers)
	b.ResetTimer()
	for i := range readers {
		start(func() {
			defer done.Done()
			rnd := rand.New(rand.NewPCG(7, uint64(i)))
			buf := make([]byte, page)
			own := make([]time.Duration, 0, each)
			for range each {
				off := rnd.Int64N(*fileSize/page) * page
				began := time.Now()
				if n, err := f.ReadAt(buf, off); n != page || err != nil {
					b.Error(fmt.Errorf("%d bytes: %w", n, err))
					return
				}
				own = append(own, time.Since(began))
			}
			mu.Lock()
			times = append(times, own...)
			mu.Unlock()
		})
	}
	done.Wait()
	b.StopTimer()
	slices.SortFunc(times, cmp.Compare[time.Duration])
	b.ReportMetric(float64(len(times))/b.Elapsed().Seconds(), "reads/s")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds())/1000, "p99-µs")
	b.ReportMetric(0, "ns/op")
}
