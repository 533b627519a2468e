package jetstream_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
)

// Servers do not answer. Who signals is told so, and not that the keeper is closed; who repeats it has sent one signal.
func TestASignalThatIsNotAnsweredCanBeRepeated(t *testing.T) {
	s := server(t)
	l := newLedger()
	k := open(t, s.URL(), works(t, l, 0))
	p := newProxy(t, s.URL())
	teller := open(t, p.url(), durable.NewRegistry(), func(o *jetstream.Options) { o.Room = -1 })
	teller.store.GiveUpAfterForTest(time.Second)
	const words = 5
	if _, err := k.Start("one", "asks", words); err != nil {
		t.Fatal(err)
	}
	signal := func(word string, want error, says string) {
		t.Helper()
		err := teller.Signal("one", "word", word)
		if !errors.Is(err, want) || errors.Is(err, durable.ErrClosed) || err != nil && !strings.Contains(err.Error(), says) {
			t.Fatalf("word %s: got %v, want %v, %q", word, err, want, says)
		}
	}
	acks := func(said []byte, byServer bool) bool {
		return byServer && bytes.Contains(said, []byte(`"stream":"vt-durable"`)) && bytes.Contains(said, []byte(`"seq":`))
	}
	sends := func(said []byte, byServer bool) bool {
		return !byServer && bytes.Contains(said, []byte("HPUB durable.inbox."))
	}
	p.hold(true)
	signal("a", durable.ErrUnanswered, "nothing was sent, after ")
	p.hold(false)
	signal("a", nil, "")

	// It arrives, and nobody says so.
	p.loses.Store(&acks)
	signal("b", durable.ErrUnanswered, "not known whether it was taken, after ")
	p.loses.Store(nil)
	signal("b", nil, "")

	// It does not arrive.
	p.loses.Store(&sends)
	signal("c", durable.ErrUnanswered, "not known")
	p.loses.Store(nil)
	teller.store.AgeForTest(10 * time.Minute)
	signal("c", nil, "")

	// It arrives, and is taken; later than that servers do not know that it is the same.
	p.loses.Store(&acks)
	signal("d", durable.ErrUnanswered, "not known")
	p.loses.Store(nil)
	until(t, "d is taken", func() bool {
		im := journals(t, k)["one"]
		n := 0
		for i := range im.Steps {
			if !im.Steps[i].Open {
				n++
			}
		}
		return n == 4
	})
	teller.store.AgeForTest(10 * time.Minute)
	signal("d", durable.ErrUnknown, "were taken since")
	signal("e", nil, "")
	if got, err := durable.ResultOf[string](within(t), k.Keeper, "one"); got != "abcde" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	told(t, k, teller)
}
