package bodies

import (
	"context"
	crypto "crypto/rand"
	"fmt"
	"helper"
	"io"
	"log/slog"
	"maps"
	"math/rand"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
)

func register(r *durable.Registry) { // want register:"fmt.Println"
	fmt.Println("outside of a body") // nobody minds
	durable.Register(r, "literal", func(t *durable.Thread, n int) (int, error) {
		_ = time.Now()         // want "time.Now in a durable body: use durable.Now or durable.Sleep"
		return rand.Int(), nil // want "rand.Int in a durable body: use durable.Rand"
	})
	durable.Register(r, "body", body)
}

func body(t *durable.Thread, m map[string]int) (int, error) {
	for range m { // want "range over a map in a durable body"
	}
	for range m { //durable:ok the order plays no part
	}
	go func() {}() // want "go statement in a durable body: use durable.Fork"
	ch := make(chan int, 1)
	ch <- 1  // want "channel in a durable body: use durable.Do"
	<-ch     // want "channel in a durable body: use durable.Await"
	select { // want "select in a durable body"
	case <-ch:
	}
	os.Remove("x")     // want "os.Remove in a durable body: use durable.Do"
	indirectly()       // want "indirectly in a durable body: reads in it: os.ReadFile in it: use durable.Do"
	_ = helper.Stamp() // want "helper.Stamp in a durable body: time.Now in it: use durable.Now or durable.Sleep"
	_ = helper.Pure(1)
	defer durable.Sleep(t, "s", time.Second) // want "durable.Sleep in a deferred function"
	v, err := durable.Do(t, "fine", func(durable.Call) (int, error) {
		os.Remove("x")
		return int(time.Now().Unix()), nil
	})
	for _, err := range []error{
		durable.Move(t, "away", func(b []byte) error { return os.WriteFile("x", b, 0) }),
		durable.MoveFor(t, "away", time.Second, func(b []byte) error { return os.WriteFile("x", b, 0) }),
	} {
		_ = err
	}
	helps(t)
	return v, err
}

func helps(t *durable.Thread) {
	var f *os.File
	f.Close() // want `\(os.File\).Close in a durable body: use durable.Do`
}

func indirectly() { reads() } // want indirectly:"reads in a durable body: os.ReadFile in it: use durable.Do"

func reads() { os.ReadFile("x") } // want reads:"os.ReadFile in a durable body: use durable.Do"

func unrelated() { _ = time.Now() } // want unrelated:"time.Now"

var (
	count   int
	byName  = map[string]int{}
	state   struct{ n int }
	mu      sync.Mutex
	shared  atomic.Int64
	setting = 7
)

func more(t *durable.Thread, m map[string]int, own struct{ n int }) (int, error) {
	count++            // want "count, a variable of the package, is written in a durable body"
	byName["x"] = 1    // want "byName, a variable of the package, is written"
	state.n = 2        // want "state, a variable of the package, is written"
	helper.Setting = 1 // want "Setting, a variable of the package, is written"
	mu.Lock()          // want `\(sync.Mutex\).Lock in a durable body`
	shared.Add(1)      // want `\(atomic.Int64\).Add in a durable body`
	count := setting   // reading, and variables of its own
	count, own.n = 1, 2
	_ = count
	now := time.Now // want "time.Now in a durable body, as a value"
	_ = now()
	later := reads // want "reads in a durable body: os.ReadFile in it"
	later()
	func() {
		_ = time.Now() // want "time.Now in a durable body"
	}()
	_ = os.Args // want "os.Args in a durable body: use durable.Do"
	_ = os.ErrNotExist
	for range maps.Keys(m) { // want "maps.Keys in a durable body: use slices.Sorted around it"
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		_ = k
	}
	_ = reflect.ValueOf(m).MapKeys()                                    // want `\(reflect.Value\).MapKeys in a durable body`
	ctx, stop := context.WithTimeout(context.Background(), time.Second) // want "context.WithTimeout in a durable body"
	stop()
	<-ctx.Done() // want "channel in a durable body"
	writes()     // want "writes in a durable body: count, a variable of the package, is written in it"
	helper.Cached()
	return durable.Do(t, "a function by its name", outside)
}

func outside(durable.Call) (int, error) { // want outside:"os.ReadFile"
	os.ReadFile("x")
	return 1, nil
}

func writes() { count = 1 }

var byVariable = func(t *durable.Thread, n int) (int, error) {
	_ = time.Now() // want "time.Now in a durable body"
	return n, nil
}

var table = []struct {
	name string
	body func(t *durable.Thread, n int) (int, error)
}{{"one", func(t *durable.Thread, n int) (int, error) {
	return os.Getpid(), nil // want "os.Getpid in a durable body"
}}}

type server struct{ calls int }

func (s *server) body(t *durable.Thread, k *durable.Keeper, other *durable.Thread, l *slog.Logger, ctx context.Context) (int, error) {
	k.Start("x")              // want `\(durable.Keeper\).Start in a durable body is no step`
	durable.Start(nil, "", 1) // want "durable.Start in a durable body is no step"
	other.Signal("s", 1)      // want `\(durable.Thread\).Signal in a durable body is no step`
	_ = t.ID()
	l.Info("x")                     // want `\(slog.Logger\).Info in a durable body`
	_ = ctx.Err()                   // want `\(context.Context\).Err in a durable body`
	io.ReadFull(crypto.Reader, nil) // want "rand.Reader in a durable body: use durable.Random or durable.NewID"
	stamp := helper.Stamp           // want "helper.Stamp in a durable body, as a value: time.Now in it"
	_ = stamp()
	defer gives(t)            // want "bodies.gives in a deferred function"
	defer progress.Save(t, 1) // want `\(durable.Checkpoint\).Save in a deferred function`
	var had, sum int
	parts := map[string]int{}
	v, err := durable.Do(t, "sets", func(durable.Call) (int, error) {
		had = 1        // want "had is written in a call in a durable body"
		sum++          // want "sum is written in a call in a durable body"
		parts["a"] = 1 // want "parts is written in a call in a durable body"
		s.calls++      // outside
		own := had
		own++
		durable.Now(t)         // want "durable.Now in a call in a durable body: a step within a step"
		other.Signal("s", own) // outside
		return own, nil
	})
	wrapped(t, func(durable.Call) (int, error) { os.Remove("x"); return 1, nil })
	wrapped(t, outside)
	return v + had + sum, err
}

var progress durable.Checkpoint

func gives(t *durable.Thread) { durable.Sleep(t, "x", 1) }

func wrapped(t *durable.Thread, f func(durable.Call) (int, error)) { durable.Do(t, "wrapped", f) }

// asks has a thread from outside.
func asks(t *durable.Thread) { t.Signal("s", 1) }

func counts(r *durable.Registry) {
	calls := 0
	durable.Register(r, "counts", func(t *durable.Thread, n int) (int, error) {
		mine := 0
		v, err := durable.Do(t, "count", func(durable.Call) (int, error) {
			calls++ // is outside of the body
			mine++  // want "mine is written in a call in a durable body"
			return 1, nil
		})
		return v + mine, err
	})
}
