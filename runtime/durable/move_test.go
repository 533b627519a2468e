package durable_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// A signal that was taken while the thread is sent is not lost: who signals waits until it is known where the thread is.
func TestASignalToAThreadThatIsSentIsNotLost(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		r, there := durable.NewRegistry(), durable.NewRegistry()
		sending, goOn := make(chan bool), make(chan bool)
		arrived := make(chan *durable.Thread, 1)
		body := func(th *durable.Thread, _ int) (int, error) {
			_ = durable.Move(th, "away", func(b []byte) error {
				close(sending)
				<-goOn
				if !arrives {
					return errors.New("refused")
				}
				moved, err := durable.DeserializeAndUnpark(b, there, nil)
				arrived <- moved
				return err
			})
			return durable.Await[int](th, "s"), nil
		}
		register(t, r, "b", body)
		register(t, there, "b", body)
		th := start(t, r, "b", 0)
		<-sending
		told := make(chan error, 1)
		go func() { told <- th.Signal("s", 7) }()
		time.Sleep(10 * time.Millisecond) // so that it would come too early
		close(goOn)
		err := <-told
		if arrives {
			if err != durable.ErrMoved {
				t.Errorf("signal to who has moved: %v", err)
			}
			th = <-arrived
			if err := th.Signal("s", 7); err != nil {
				t.Fatal(err)
			}
		} else if err != nil {
			t.Errorf("signal to who stays: %v", err)
		}
		if got := result[int](t, th); got != 7 {
			t.Errorf("got %d", got)
		}
	}
}

// copyOf is what a process leaves that dies now.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(filepath.Join(to, "copy"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(to, "copy")
}

// A process dies while a thread is sent: it is sent again, and arrives once.
func TestAThreadWhoseProcessDiesWhileItIsSentArrivesOnce(t *testing.T) {
	home, away := t.TempDir(), t.TempDir()
	var died string
	there := durable.NewRegistry()
	var receiver *durable.Keeper
	body := func(send func([]byte) error) func(th *durable.Thread, _ int) (string, error) {
		return func(th *durable.Thread, _ int) (string, error) {
			err := durable.Move(th, "to the data", send)
			where, _ := durable.Do(th, "where", func(durable.Call) (string, error) { return "here", nil })
			return fmt.Sprint(where, err), nil
		}
	}
	register(t, there, "b", func(th *durable.Thread, _ int) (string, error) {
		if err := durable.Move(th, "to the data", func([]byte) error { return errors.New("it is there") }); err != nil {
			return "", err
		}
		return durable.Do(th, "where", func(durable.Call) (string, error) { return "there", nil })
	})
	receiver = open(t, away, there)
	arrive := func(b []byte) error {
		_, err := receiver.DeserializeAndUnpark(b)
		if errors.Is(err, durable.ErrExists) {
			return nil
		}
		return err
	}
	r := durable.NewRegistry()
	register(t, r, "b", body(func(b []byte) error {
		err := arrive(b)
		died = copyOf(t, home)
		return err
	}))
	k := open(t, home, r)
	th, err := k.Start("hops", "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := th.Join(); err != durable.ErrMoved {
		t.Fatal(err)
	}
	closed(t, k)
	sent := 0
	r = durable.NewRegistry()
	register(t, r, "b", body(func(b []byte) error { sent++; return arrive(b) }))
	k = open(t, died, r)
	if th = k.Thread("hops"); th != nil {
		if err := th.Join(); err != durable.ErrMoved || sent != 1 {
			t.Errorf("a thread whose arrival nobody knew of: %v, sent %d times", err, sent)
		}
	}
	closed(t, k)
	for range 2 { // it is kept there
		if got, err := durable.Result[string](receiver.Thread("hops")); got != "there" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		closed(t, receiver)
		receiver = open(t, away, there)
	}
	closed(t, receiver)
}

// What children have learned lasts although their parent has tried in vain to leave.
func TestChildrenOfAThreadThatStaysKeepWhatTheyLearned(t *testing.T) {
	dir := t.TempDir()
	learned, goOn := make(chan bool, 1), make(chan bool)
	var once atomic.Bool
	r := durable.NewRegistry()
	register(t, r, "child", func(th *durable.Thread, _ int) (uint64, error) {
		v := durable.Random(th) // lasts with the next step that must
		if !once.Swap(true) {   //durable:ok this is what is tested
			learned <- true //durable:ok
			<-goOn          //durable:ok
		}
		durable.Park(th, "child")
		return v, nil
	})
	register(t, r, "b", func(th *durable.Thread, _ int) (uint64, error) {
		c, err := durable.Fork(th, "child", 1)
		if err != nil {
			return 0, err
		}
		durable.Await[int](th, "go")
		if err := durable.Move(th, "away", func([]byte) error { return errors.New("refused") }); err == nil {
			return 0, errors.New("it was sent")
		}
		return durable.Join[uint64](th, c)
	})
	k := open(t, dir, r)
	th, err := k.Start("one", "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	<-learned
	if err := th.Signal("go", 1); err != nil {
		t.Fatal(err)
	}
	until(t, "the child is stopped", func() bool { return th.Child(1).State() == durable.Stopping })
	close(goOn)
	until(t, "the child goes on", func() bool { s := th.Child(1).Steps(); return len(s) == 2 && s[1].Kind == journal.StepPark })
	k2 := open(t, copyOf(t, dir), r)
	if err := k2.Thread("one").Child(1).Unpark(); err != nil {
		t.Fatal(err)
	}
	if _, err := durable.Result[uint64](k2.Thread("one")); err != nil {
		t.Error(err)
	}
	closed(t, k2)
	closed(t, k)
}

// A clone has learned the same as its original, also after a crash.
func TestACloneKnowsWhatLasts(t *testing.T) {
	dir := t.TempDir()
	r := durable.NewRegistry()
	drawn, goOn := make(chan bool, 9), make(chan bool)
	register(t, r, "b", func(th *durable.Thread, _ int) (uint64, error) {
		v := durable.Random(th)
		drawn <- true //durable:ok this is what is tested
		<-goOn        //durable:ok
		return v, nil
	})
	k := open(t, dir, r)
	th, err := k.Start("one", "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	<-drawn
	c, err := th.Clone()
	if err != nil {
		t.Fatal(err)
	}
	left := copyOf(t, dir)
	close(goOn)
	k2 := open(t, left, r)
	a, errA := durable.Result[uint64](k2.Thread("one"))
	b, errB := durable.Result[uint64](k2.Thread(c.ID()))
	if a != b || errA != nil || errB != nil {
		t.Errorf("got %d, %v, and its clone %d, %v", a, errA, b, errB)
	}
	closed(t, k2)
	closed(t, k)
}

// A step in a continuation of the thread's is one of the thread.
func TestStepsAreMadeInContinuations(t *testing.T) {
	r := durable.NewRegistry()
	register(t, r, "b", func(th *durable.Thread, n int) (int, error) {
		sum := 0
		for v := range continuation.Generate(func(yield func(int)) {
			for i := range n {
				v, _ := durable.Do(th, "in it", func(durable.Call) (int, error) { return i, nil })
				yield(v)
			}
		}) {
			sum += v
		}
		return sum, nil
	})
	if got := result[int](t, start(t, r, "b", 4)); got != 6 {
		t.Errorf("got %d", got)
	}
}
