package recording

import (
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// MostLive is how many events wait for the reader of a Live.
const MostLive = maxLive

// A StoreWriter writes chunks of near-random events to a store.
type StoreWriter struct {
	*Writer
	n uint64
}

func NewStoreWriter(s *Store, seed uint64) *StoreWriter {
	w := NewWriter(s, Info{PID: 1, From: time.Unix(1, 0), Started: time.Unix(0, 0)}, nothing{}, nil)
	w.next = s.needsState
	return &StoreWriter{w, seed}
}

func (w *StoreWriter) Written() int64 { return int64(w.written.Bytes) }

func (w *StoreWriter) WriteChunk(chunk int) error {
	for i := range 2000 {
		w.n = w.n*6364136223846793005 + 1442695040888963407
		w.Add(Event{Time: time.Duration(chunk)*time.Second + time.Duration(i), Kind: flight.EventLocalSet, Thread: 1, Arg: w.n})
	}
	return w.Flush(maxTime)
}
