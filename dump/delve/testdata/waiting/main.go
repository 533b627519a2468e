// Command waiting has threads that wait with known variables. It ends with its standard input.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

type point struct {
	X, Y int
	Name string
	Next *point
}

// keep has what the threads use after they have waited, so that the compiler keeps it meanwhile.
var keep []any

//go:noinline
func use(values ...any) { keep = append(keep[:0], values...) }

//go:noinline
func values(number int, text string, at point) (sum int) {
	list := []string{"one", "two", "three"}
	table := map[string]int{"a": 1}
	ring := &point{X: 7, Name: "ring"}
	ring.Next = ring
	long := text
	for range 10 {
		long += long
	}
	lost := number * 3
	use(lost)
	vthread.Park()
	use(number, text, &at, len(list), list, table, ring, long)
	return number
}

func outer(n int) {
	twice := n * 2
	use(middle(twice), twice)
}

// middle is inlined into outer.
func middle(p int) int {
	inner := p * p
	vthread.Park()
	return inner
}

func closed(count int) {
	word := "captured"
	func() {
		mine := count * count
		vthread.Park()
		count += mine
		use(word, &count, mine)
	}()
	use(count)
}

var held vsync.Mutex

func locked(turn int) {
	held.Lock()
	use(turn)
	held.Unlock()
}

func spinning(turns *uint64) {
	for {
		*turns++
	}
}

func switching(turns int) {
	for ; ; turns++ {
		turn(turns)
		use(turns)
	}
}

// turn has what its caller has.
//
//go:noinline
func turn(same int) {
	vthread.Sleep(20 * time.Millisecond)
	use(same)
}

// pinned blocks where threads cannot see it.
func pinned(depth int) {
	if depth > 0 {
		pinned(depth - 1)
		use(depth)
		return
	}
	<-never
}

var never = make(chan int)

func main() {
	vthread.Main(func() {
		held.Lock()
		start := func(name string, f func()) { vthread.Builder{Name: name}.Start(f) }
		start("values", func() { use(values(42, "hello", point{X: 1, Y: 2, Name: "here"})) })
		start("outer", func() { outer(21) })
		start("closed", func() { closed(5) })
		start("locked", func() { locked(3) })
		start("spinning", func() { spinning(new(uint64)) })
		start("switching", func() { switching(0) })
		start("pinned", func() { pinned(3) })
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
	})
}
