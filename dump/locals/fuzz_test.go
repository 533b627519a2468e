package locals

import (
	"bytes"
	"io"
	"testing"
)

// FuzzRead reads what may have come from another program than vtdelve: an error or an answer that can be written and read again, and printed.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, sample()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"format":"` + Format + `","problem":{"kind":"runs","text":"it runs"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, a); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&b)
		if err != nil || len(again.Frames) != len(a.Frames) || again.Goroutine != a.Goroutine || again.Thread != a.Thread || len(again.Incomplete) != len(a.Incomplete) {
			t.Fatalf("got %+v, %v; want %+v", again, err, a)
		}
		if err := Text(io.Discard, a, TextOptions{}); err != nil {
			t.Fatal(err)
		}
	})
}
