package flight

import (
	"os"
	"testing"
)

func newTest(t testing.TB) *Recorder {
	dir, err := os.MkdirTemp("/dev/shm", "vtscope-test-")
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Options{Dir: dir, Warn: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); os.RemoveAll(dir) })
	return r
}

func BenchmarkEmit(b *testing.B) {
	r := newTest(b)
	g := r.AcquireRing(1, 16384)
	for i := 0; b.Loop(); i++ {
		g.Emit(Ticks(i), EventPark, ReasonPark, 1, 2, 3)
	}
}

func BenchmarkEmitShared(b *testing.B) {
	r := newTest(b)
	for i := 0; b.Loop(); i++ {
		r.Emit(Ticks(i), EventPark, ReasonPark, 1, 2, 3)
	}
}

func BenchmarkParkedMounted(b *testing.B) {
	r := newTest(b)
	rec := r.GetRecord()
	for i := 0; b.Loop(); i++ {
		rec.Parked(Ticks(i), StateParked, ReasonPark, 7, BlockThread(3))
		rec.Mounted(Ticks(i), 2)
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}

//go:noinline
func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
}

func BenchmarkStack(b *testing.B) {
	r := newTest(b)
	deep(8, func() {
		for b.Loop() {
			r.Stack(0)
		}
	})
}

func BenchmarkGetPutRecord(b *testing.B) {
	r := newTest(b)
	var c RecordCache
	for b.Loop() {
		c.Put(r, c.Get(r))
	}
}

func BenchmarkOpenScope(b *testing.B) {
	r := newTest(b)
	for b.Loop() {
		r.CloseScope(r.OpenScope(1, "requests", 0, 1, 0, 5))
	}
}
