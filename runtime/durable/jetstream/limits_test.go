package jetstream_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// A message that is short, and asks for much, is told of its tree alone: who looks makes nothing of it, nor does who would take it.
func TestHostileMessagesAreTold(t *testing.T) {
	s := server(t)
	small := journal.Limits{Bytes: 4 << 20, Memory: 2 << 20}
	limited := func(o *jetstream.Options) { o.Limits = small }
	k := open(t, s.URL(), works(t, newLedger(), 0), limited)
	if err := k.store.FillForTest(within(t), "t", 1); err != nil {
		t.Fatal(err)
	}
	const n = 800_000
	if err := k.store.RawForTest(within(t), "entries", []byte("["+strings.Repeat("{},", n)+"{}]")); err != nil {
		t.Fatal(err)
	}
	if err := k.store.RawForTest(within(t), "steps", []byte(`[{"thread":"steps","op":"whole","image":{"id":"steps","body":"asks","steps":[`+strings.Repeat("{},", n)+`{}]}}]`)); err != nil {
		t.Fatal(err)
	}
	long := []byte(`[{"thread":"long","op":"new","body":"asks","args":"` + strings.Repeat("x", 3<<20) + `"}]`)
	for range 2 { // each of them is within the limits
		if err := k.store.RawForTest(within(t), "long", long); err != nil {
			t.Fatal(err)
		}
	}
	// Nobody else reads them meanwhile: what the process allocates is what the reader asks for, and the server's copies.
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	for _, deep := range []bool{false, true} {
		r, err := jetstream.OpenReader(within(t), jetstream.ReaderOptions{URL: s.URL(), Within: time.Minute, Limits: small})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got := map[string]error{}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if deep {
			for _, id := range []string{"entries", "steps", "long", "t0"} {
				seen, _, err := r.Thread(within(t), id)
				if err != nil || seen == nil {
					t.Fatal(id, seen, err)
				}
				got[id] = seen.Trouble
			}
		} else if _, err := r.Look(within(t), jetstream.LookOptions{During: time.Hour}, func(s *jetstream.TreeSeen) error {
			if got[s.ID] = s.Trouble; s.Trouble != nil && s.Root != nil {
				t.Errorf("%s has a journal, and %v", s.ID, s.Trouble)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		for id, want := range map[string]error{"entries": journal.ErrMemory, "steps": journal.ErrMemory, "long": journal.ErrTooLarge, "t0": nil} {
			if err, there := got[id]; !there || !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", id, err, want)
			}
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 300<<20 { // they ask for 1.1 GB
			t.Errorf("%d bytes were allocated", allocated)
		}
	}
	// A keeper takes none of them, and goes on with others.
	k = open(t, s.URL(), works(t, newLedger(), 0), limited)
	th, err := k.Start("w", "work", 3)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := durable.Result[int](th); got != 3 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	until(t, "it has tried them", func() bool { return errors.Is(k.store.Stats().Trouble, journal.ErrMemory) })
	// It commits nothing that it would not read.
	if _, err := k.Start("large", "work", strings.Repeat("x", 3<<20)); err == nil {
		t.Error("it was taken")
	}
	if err := k.Signal("t0", "word", 1); err != nil {
		t.Error(err)
	}
}

// Somebody drops a tree that is over, and another one of that id begins here, while this keeper drops it too: the new one stays.
func TestATreeThatIsBegunAgainIsNotLost(t *testing.T) {
	s := server(t)
	gate := make(chan struct{})
	k := open(t, s.URL(), clerks(t, gate))
	if _, err := k.Start("again", "calls", 7); err != nil {
		t.Fatal(err)
	}
	if err := k.store.BuryForTest("again"); !errors.Is(err, durable.ErrFenced) {
		t.Errorf("got %v, want %v", err, durable.ErrFenced)
	}
	close(gate)
	if got, err := durable.ResultOf[int](within(t), k.Keeper, "again"); got != 7 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	if st := k.store.Stats(); st.Lost != 0 {
		t.Errorf("%d trees were lost", st.Lost)
	}
}

// What is remembered of signals that nobody has answered is not the signals.
func TestUnansweredSignalsTakeLittleMemory(t *testing.T) {
	s := server(t)
	k := open(t, s.URL(), durable.NewRegistry())
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	k.store.RememberForTest(100, 1<<20)
	if after := heap(); after > before+20<<20 {
		t.Errorf("100 signals of 1 MiB hold %d bytes", after-before)
	}
}
