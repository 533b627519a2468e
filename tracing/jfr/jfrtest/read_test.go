package jfrtest_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/jfr"
	"github.com/vtscope/vtscope/tracing/jfr/jfrtest"
)

// sample is a file of two chunks or more.
func sample(t testing.TB) []byte {
	t.Helper()
	s := recordingtest.New()
	at := s.At("net/http.(*conn).serve server.go:12", "main.main main.go:3")
	s.Start(1, 0, 0)
	for range 60 {
		s.After(time.Millisecond).Mount(1, 0)
		s.After(time.Millisecond).Park(1, flight.ReasonLock, flight.BlockAt(flight.BlockedByMutex, 0xc000), at)
		s.After(time.Millisecond).Unpark(1, 0)
	}
	var b bytes.Buffer
	if _, err := jfr.Write(t.Context(), &b, s, jfr.Options{ChunkSize: 4 << 10}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAFileIsRead(t *testing.T) {
	f, err := jfrtest.Read(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Chunks) < 2 || f.Counts()["vt.Park"] != 60 {
		t.Fatalf("got %d chunks and %d parks, want 2 or more and 60", len(f.Chunks), f.Counts()["vt.Park"])
	}
	for e := range f.Events("vt.Park") {
		if got := e.Stack(); len(got) != 2 || got[0] != "net/http.(*conn).serve" || e.Get("stackTrace.frames.1.lineNumber") != int64(3) {
			t.Errorf("got stack %q", got)
		}
		if e.Get("stackTrace.frames.7") != nil || e.Get("reason.more") != nil || e.Get("none") != nil {
			t.Errorf("got something where there is nothing")
		}
	}
}

func TestWhatIsNotExactIsRefused(t *testing.T) {
	data := sample(t)
	first := binary.BigEndian.Uint64(data[8:])
	for name, change := range map[string]struct {
		make func(b []byte) []byte
		want string
	}{
		"nothing":         {func(b []byte) []byte { return nil }, "no chunk"},
		"cut":             {func(b []byte) []byte { return b[:len(b)-1] }, "bytes of"},
		"junk at the end": {func(b []byte) []byte { return append(b, 0) }, "no header"},
		"magic":           {func(b []byte) []byte { b[0] = 'X'; return b }, "no header"},
		"version":         {func(b []byte) []byte { b[5] = 1; return b }, "version"},
		"not finished":    {func(b []byte) []byte { b[64] = 1; return b }, "not finished"},
		"no varints":      {func(b []byte) []byte { b[67] = 0; return b }, "flags"},
		"size":            {func(b []byte) []byte { b[15]--; return b }, "event at"},
		"constants at 0":  {func(b []byte) []byte { clear(b[16:24]); return b }, "constants at 0"},
		"constants moved": {func(b []byte) []byte { b[23]++; return b }, "no constants"},
		"metadata moved":  {func(b []byte) []byte { b[31]++; return b }, "no metadata"},
		"line of time":    {func(b []byte) []byte { b[first+39]++; return b }, "another line of time"},
		"ticks":           {func(b []byte) []byte { b[first+63]++; return b }, "ticks per second"},
		"a symbol of chunk 2": {func(b []byte) []byte {
			at := int(first) + bytes.LastIndex(b[first:], []byte("(*conn)"))
			b[at+3] = 'k'
			return b
		}, "before"},
		"a method without ()": {func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\x03()V"), []byte("\x03xyV")) }, "descriptor"},
		"a name in metadata":  {func(b []byte) []byte { return bytes.Replace(b, []byte("\x05class"), []byte("\x05klass"), 1) }, "element"},
		"no region":           {func(b []byte) []byte { return bytes.Replace(b, []byte("\x06region"), []byte("\x06legion"), 1) }, "region"},
		"simple":              {func(b []byte) []byte { return bytes.Replace(b, []byte("\x0asimpleType"), []byte("\x0asimpleTypo"), 1) }, ""},
		"spare byte":          {func(b []byte) []byte { b[68]--; return b }, ""}, // of the size of the first event: it ends early, or the next has no size
	} {
		changed := change.make(bytes.Clone(data))
		if bytes.Equal(changed, data) {
			t.Errorf("%s: nothing was changed", name)
		}
		if _, err := jfrtest.Read(changed); err == nil || !strings.Contains(err.Error(), change.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, change.want)
		}
	}
}

// FuzzRead: no file makes the reader crash, hang, or take much memory.
func FuzzRead(f *testing.F) {
	data := sample(f)
	f.Add(data)
	f.Add(data[:binary.BigEndian.Uint64(data[8:])])
	f.Add(data[:70])
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := jfrtest.Read(b)
		if err != nil {
			return
		}
		for e := range file.Events("") {
			e.Get("eventThread.group.parent.name")
			e.Stack()
		}
	})
}
