package flight

import (
	"os"
	"runtime"
	"testing"
)

func newTest(t testing.TB) *Recorder {
	t.Helper()
	r, err := New(Options{Dir: tmpfsDir(t), Warn: func(s string) { t.Error("recorder warns: ", s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func tmpfsDir(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("flight files exist on Linux only")
	}
	dir, err := os.MkdirTemp("/dev/shm", "vtscope-test-")
	if err != nil {
		t.Skipf("needs a tmpfs at /dev/shm: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func BenchmarkEmit(b *testing.B) {
	r := newTest(b)
	g := r.AcquireRing(1, 0, 16384)
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
