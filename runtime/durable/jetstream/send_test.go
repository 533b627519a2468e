package jetstream_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
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
	// unanswered signals while what is said like that is lost, and gives up when something was.
	unanswered := func(word string, like func(said []byte, byServer bool) bool, says string) {
		t.Helper()
		lost := make(chan struct{})
		var once sync.Once
		loses := func(said []byte, byServer bool) bool {
			is := like(said, byServer)
			if is {
				once.Do(func() { close(lost) })
			}
			return is
		}
		p.loses.Store(&loses)
		teller.givesUp(lost)
		signal(word, durable.ErrUnanswered, says)
		p.loses.Store(nil)
		teller.givesUp(nil)
	}
	acks := func(said []byte, byServer bool) bool {
		return byServer && bytes.Contains(said, []byte(`"stream":"vt-durable"`)) && bytes.Contains(said, []byte(`"seq":`))
	}
	sends := func(said []byte, byServer bool) bool {
		return !byServer && bytes.Contains(said, []byte("HPUB durable.inbox."))
	}
	taken := func(word string, n int) {
		t.Helper()
		until(t, word+" is taken", func() bool {
			im := journals(t, k)["one"]
			closed := 0
			for i := range im.Steps {
				if !im.Steps[i].Open {
					closed++
				}
			}
			return closed == n
		})
	}
	p.hold(true)
	enough := make(chan struct{})
	teller.givesUp(enough)
	time.AfterFunc(300*time.Millisecond, func() { close(enough) })
	signal("a", durable.ErrUnanswered, "nothing was sent, after ")
	teller.givesUp(nil)
	p.hold(false)
	signal("a", nil, "")

	// It arrives, and nobody says so.
	unanswered("b", acks, "not known whether it was taken, after ")
	signal("b", nil, "")

	// It does not arrive.
	taken("b", 2) // what is taken meanwhile could be it
	unanswered("c", sends, "not known")
	teller.store.AgeForTest(10 * time.Minute)
	signal("c", nil, "")

	// It arrives, and is taken; later than that servers do not know that it is the same.
	unanswered("d", acks, "not known")
	taken("d", 4)
	teller.store.AgeForTest(10 * time.Minute)
	signal("d", durable.ErrUnknown, "were taken since")
	signal("e", nil, "")
	if got, err := durable.ResultOf[string](within(t), k.Keeper, "one"); got != "abcde" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	told(t, k, teller)
}
