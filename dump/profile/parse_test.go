package profile_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"testing"

	"github.com/vtscope/vtscope/dump/profile"
)

func TestAProfileOfGoIsParsed(t *testing.T) {
	for _, name := range []string{"heap", "goroutine", "allocs", "threadcreate"} {
		var b bytes.Buffer
		if err := pprof.Lookup(name).WriteTo(&b, 0); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(bytes.NewReader(b.Bytes()), profile.MostMemory)
		if err != nil || len(p.SampleType) == 0 {
			t.Errorf("%s: got %v, %v", name, p, err)
		}
	}
}

// A profile of a few bytes may be made to take gigabytes.
func TestAHostileProfileTakesNoMoreMemoryThanItMay(t *testing.T) {
	const most = 16 << 20
	compressed := func(b []byte) []byte {
		var to bytes.Buffer
		z := gzip.NewWriter(&to)
		_, _ = z.Write(b)
		_ = z.Close()
		return to.Bytes()
	}
	field := func(number byte, value []byte) []byte { // of a length that takes three bytes
		n := len(value)
		return append([]byte{number<<3 | 2, byte(n) | 0x80, byte(n>>7) | 0x80, byte(n >> 14)}, value...)
	}
	for name, b := range map[string][]byte{
		"zeros":         make([]byte, 64<<20),
		"samples":       bytes.Repeat([]byte{2<<3 | 2, 0}, most/16),
		"locations":     bytes.Repeat([]byte{4<<3 | 2, 0}, most/16),
		"functions":     bytes.Repeat([]byte{5<<3 | 2, 0}, most/16),
		"strings":       bytes.Repeat([]byte{6<<3 | 2, 0}, most/16),
		"labels":        field(2, bytes.Repeat([]byte{3<<3 | 2, 0}, most/32)),
		"lines":         field(4, bytes.Repeat([]byte{4<<3 | 2, 0}, most/32)),
		"numbers":       field(2, field(1, make([]byte, most/9))),
		"large tags":    bytes.Repeat([]byte{2<<3 | 2 | 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x70, 0}, most/88),
		"twice zipped":  compressed(compressed(make([]byte, 64<<20))),
		"not a profile": bytes.Repeat([]byte("goroutine profile: total 1\n"), 1<<20),
	} {
		for _, b := range [][]byte{b, compressed(b)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := profile.Parse(bytes.NewReader(b), most)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Errorf("%s: got no error", name)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 3*most {
				t.Errorf("%s: %d bytes were allocated, of at most %d: %v", name, got, most, err)
			}
		}
	}
	if _, err := profile.Parse(bytes.NewReader(compressed(bytes.Repeat([]byte{2<<3 | 2, 0}, most/16))), most); !errors.Is(err, profile.ErrLarge) {
		t.Errorf("samples: got %v, want %v", err, profile.ErrLarge)
	}
}

// What the estimate lets through takes about as much memory as it says.
func TestTheMemoryOfADamagedProfileIsEstimated(t *testing.T) {
	var whole bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&whole, 0); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&whole)
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	const most = 1 << 20
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 5000 {
		b := bytes.Clone(plain.Bytes())
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = profile.Parse(bytes.NewReader(b), most)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 4*most {
			t.Fatalf("seed %d: %d bytes were allocated, of at most %d", seed, got, most)
		}
	}
}
