package jfr

import (
	"fmt"
	"io"
	"time"
)

// A chunk is the part of a file that is being made: a header, events, one checkpoint with the constants, and the metadata. It is a file of its own.
//
//	C1  All chunks lie on one straight line of time: ticks and wall clock of a header differ by what they differ by in the first.
//	C2  Only whole chunks are written.
type chunk struct {
	out     io.Writer
	buf     []byte // room for the header, then events
	from    time.Duration
	to      time.Duration // the newest event, never before from
	began   time.Time     // what time 0 is on the wall clock
	limit   int
	written uint64
	chunks  int
}

const (
	// usualChunk is how many bytes of events make a chunk: many, so that constants are seldom repeated, and few enough to be read at once.
	usualChunk = 12 << 20
	// threadSize is about what the constant of a thread takes.
	threadSize = 32
	// epoch is how much time there is before time 0: something that lasted may have begun before the recording.
	epoch = 10 * time.Minute
)

func (c *chunk) reset() {
	c.buf = append(c.buf[:0], make([]byte, headerSize)...)
	c.from = c.to
}

// ticks returns the time of an event; what is too long ago is at the beginning of time.
func ticks(at time.Duration) uint64 { return uint64(max(at+epoch, 0)) }

// finish writes the chunk, and begins another.
func (w *writer) finish(last bool) error {
	w.functions()
	h := header{startNanos: uint64(w.began.Add(w.from).UnixNano()), durationNanos: uint64(w.to - w.from), startTicks: ticks(w.from)}
	h.pools = uint64(len(w.buf))
	w.checkpoint()
	h.metadata = uint64(len(w.buf))
	w.buf = w.meta.append(w.buf, ticks(w.to))
	h.size = uint64(len(w.buf))
	h.put(w.buf, last)
	n, err := w.out.Write(w.buf)
	w.chunk.written += uint64(n)
	if err != nil {
		return fmt.Errorf("write chunk %d: %w", w.chunks+1, err)
	}
	w.chunks++
	w.present++
	w.reset()
	return nil
}

// functions appends where the functions of the chunk's stacks are: methods of the JDK have no file.
func (w *writer) functions() {
	for _, key := range w.pools.methods.marked {
		if file := w.pools.files[key]; file != 0 {
			w.pools.strings.mark(file, w.present)
			at := len(w.buf)
			b := begin(w.buf, w.function, ticks(w.to))
			b = appendVarint(b, uint64(key))
			w.buf = end(appendPooled(b, file), at)
		}
	}
}

// checkpoint appends the constants of the chunk.
func (w *writer) checkpoint() {
	w.threads.groups(&w.pools)
	at := len(w.buf)
	b := append(w.buf, make([]byte, padded)...)
	b = appendVarint(b, 1)
	b = appendVarint(b, ticks(w.to))
	b = append(b, 0, 0, 0) // duration; no checkpoint before this one; no flags
	count := len(b)
	b = append(b, 0) // how many pools: fewer than 128
	add := func(more []byte, any bool) {
		if b = more; any {
			b[count]++
		}
	}
	add(w.threads.append(b, w.meta.id(typeThread), &w.pools))
	for _, p := range w.pools.all() {
		add(p.append(b, w.meta.id(p.class)))
	}
	putPadded(b[at:], len(b)-at)
	w.buf = b
}
