package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

type order struct {
	Item  string
	Price int
}

// checkout is a body: what it asks the outside for goes through steps, and what it has learned is given to it again wherever it goes on.
func checkout(t *durable.Thread, o order) (string, error) {
	paid, err := durable.Do(t, "pay", func(c durable.Call) (int, error) {
		return o.Price, nil // charge a card, with c.Key, which is the same in each attempt
	}, durable.ByKey)
	if err != nil {
		return "", err
	}
	address := durable.Await[string](t, "address")
	return fmt.Sprintf("%s for %d to %s", o.Item, paid, address), nil
}

// A thread survives its process: the next keeper of the folder lets it go on.
func Example() {
	registry := durable.NewRegistry()
	if err := durable.Register(registry, "checkout", checkout); err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "threads")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	open := func() *durable.Keeper {
		store, err := durable.NewFileStore(dir, durable.FileOptions{})
		if err != nil {
			log.Fatal(err)
		}
		keeper, err := durable.Open(durable.KeeperOptions{Registry: registry, Store: store})
		if err != nil {
			log.Fatal(err)
		}
		return keeper
	}

	keeper := open()
	if _, err := keeper.Start("order-4711", "checkout", order{"a chair", 40}); err != nil {
		log.Fatal(err)
	}
	if err := keeper.Close(); err != nil { // or the process dies
		log.Fatal(err)
	}

	keeper = open()
	if err := keeper.Signal("order-4711", "address", "1 Main Street"); err != nil {
		log.Fatal(err)
	}
	receipt, err := durable.Result[string](keeper.Thread("order-4711"))
	fmt.Println(receipt, err)
	if err := keeper.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: a chair for 40 to 1 Main Street <nil>
}

// A thread goes on from its bytes, in another process or in this one.
func ExampleThread_ParkAndSerialize() {
	registry := durable.NewRegistry()
	_ = durable.Register(registry, "visit", func(t *durable.Thread, name string) (string, error) {
		begun := durable.Now(t)
		durable.Park(t, "until it is there")
		return fmt.Sprint("hello, ", name, ", after ", durable.Now(t).Sub(begun) > 0), nil
	})
	keys, err := journal.NewKeys([]byte("a secret that both have"))
	if err != nil {
		log.Fatal(err)
	}
	builder := durable.Builder{Registry: registry, Keys: keys}
	t, err := builder.Start("visit", "you")
	if err != nil {
		log.Fatal(err)
	}
	bytes, err := t.ParkAndSerialize() // here …
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Join())
	t, err = builder.DeserializeAndUnpark(bytes) // … and there
	if err != nil {
		log.Fatal(err)
	}
	_ = t.Unpark() // if it had not come to its Park yet
	fmt.Println(durable.Result[string](t))
	// Output:
	// the thread was parked to bytes and goes on from there
	// hello, you, after true <nil>
}

func ExampleFork() {
	registry := durable.NewRegistry()
	_ = durable.Register(registry, "square", func(t *durable.Thread, n int) (int, error) {
		return durable.Do(t, "square", func(durable.Call) (int, error) { return n * n, nil })
	})
	_ = durable.Register(registry, "sum", func(t *durable.Thread, n int) (int, error) {
		var children []durable.Child
		for i := range n {
			c, err := durable.Fork(t, "square", i)
			if err != nil {
				return 0, err
			}
			children = append(children, c)
		}
		sum := 0
		for _, c := range children {
			v, err := durable.Join[int](t, c)
			if err != nil {
				return 0, err
			}
			sum += v
		}
		return sum, nil
	})
	t, err := durable.Start(registry, "sum", 4)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(durable.Result[int](t))
	// Output: 14 <nil>
}

// A search is written as if each choice were the right one.
func ExampleChoose() {
	registry := durable.NewRegistry()
	_ = durable.Register(registry, "coins", func(t *durable.Thread, sum int) (string, error) {
		a, b := durable.Choose(t, "a", 3), durable.Choose(t, "b", 3)
		if 5*a+2*b != sum {
			return "", nil // this was not it
		}
		return fmt.Sprintf("%d of 5 and %d of 2", a, b), nil
	})
	t, err := durable.Start(registry, "coins", 9)
	if err != nil {
		log.Fatal(err)
	}
	for i, all := 0, []*durable.Thread{t}; i < len(all); i++ {
		if found, err := durable.Result[string](all[i]); found != "" || err != nil {
			fmt.Println(found, err)
		}
		if i == len(all)-1 { // clones of one that has ended are known
			all = append(all[:1], t.Clones()...)
		}
	}
	// Output: 1 of 5 and 2 of 2 <nil>
}

// Who stops a process waits for calls that are under way as long as it wants, and knows what it has waited for.
func ExampleKeeper_CloseContext() {
	registry := durable.NewRegistry()
	begun, end := make(chan bool), make(chan bool)
	_ = durable.Register(registry, "checkout", func(t *durable.Thread, _ int) (string, error) {
		return durable.Do(t, "pay", func(durable.Call) (string, error) {
			close(begun)
			<-end
			return "paid", nil
		})
	})
	dir, err := os.MkdirTemp("", "threads")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := durable.NewFileStore(dir, durable.FileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	keeper, err := durable.Open(durable.KeeperOptions{Registry: registry, Store: store})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := keeper.Start("order-4711", "checkout", 1); err != nil {
		log.Fatal(err)
	}
	<-begun
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	err = keeper.CloseContext(ctx)
	what, _, _ := strings.Cut(err.Error(), " since ")
	fmt.Println(what)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	close(end)
	fmt.Println(keeper.Close())
	// Output:
	// durable: close: thread order-4711 is in do "pay"
	// true
	// <nil>
}

func ExampleRegisterGenerator() {
	registry := durable.NewRegistry()
	_ = durable.RegisterGenerator(registry, "count", func(t *durable.Thread, n int, yield func(int)) error {
		for i := range n {
			yield(i)
		}
		return nil
	})
	t, err := durable.Start(registry, "count", 3)
	if err != nil {
		log.Fatal(err)
	}
	g := durable.Values[int](t)
	first, _, _ := g.Next()
	clone, err := g.Clone()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("both had", first)
	for v, err := range g.All() {
		fmt.Println("one has", v, err)
	}
	for v, err := range clone.All() {
		fmt.Println("the clone has", v, err)
	}
	// Output:
	// both had 0
	// one has 1 <nil>
	// one has 2 <nil>
	// the clone has 1 <nil>
	// the clone has 2 <nil>
}

type sums struct{ Next, Sum int }

var adding = durable.Checkpoint[sums]{Name: "adding", Version: 1}

// A thread with many steps saves what it has come to, and its journal stays short.
func ExampleCheckpoint() {
	registry := durable.NewRegistry()
	_ = durable.Register(registry, "add", func(t *durable.Thread, n int) (int, error) {
		p, _ := adding.Restore(t) // the first call
		for p.Next < n {
			v, err := durable.Do(t, "read", func(durable.Call) (int, error) { return p.Next, nil })
			if err != nil {
				return 0, err
			}
			p.Sum += v
			if p.Next++; p.Next%100 == 0 {
				adding.Save(t, p)
			}
		}
		return p.Sum, nil
	})
	t, err := durable.Start(registry, "add", 1050)
	if err != nil {
		log.Fatal(err)
	}
	sum, err := durable.Result[int](t)
	fmt.Println(sum, err, "with", len(t.Steps()), "steps kept")
	// Output: 550725 <nil> with 51 steps kept
}

// Code that was changed keeps what it did for threads that are under way.
func ExamplePatch() {
	registry := durable.NewRegistry()
	_ = durable.Register(registry, "order", func(t *durable.Thread, _ int) (string, error) {
		if durable.Patch(t, "check the address", 1) > 0 {
			return durable.Do(t, "check", func(durable.Call) (string, error) { return "checked", nil })
		}
		return "as before", nil
	})
	t, err := durable.Start(registry, "order", 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(durable.Result[string](t))
	// Output: checked <nil>
}

// A wait that has a limit.
func ExampleAwaitFor() {
	registry := durable.NewRegistry()
	_ = durable.Register(registry, "asks", func(t *durable.Thread, _ int) (string, error) {
		answer, ok := durable.AwaitFor[string](t, "answer", time.Millisecond)
		if !ok {
			return "nobody has answered", nil
		}
		return answer, nil
	})
	t, err := durable.Start(registry, "asks", 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(durable.Result[string](t))
	// Output: nobody has answered <nil>
}
