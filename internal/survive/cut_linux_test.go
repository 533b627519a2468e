package survive

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// cuts are the ways in which somebody damages the flight file of a program that is at work. Each is given the file's size.
var cuts = map[string]struct {
	cut   func(file string, size int64) error
	warns string // what the program prints
}{
	"emptied":            {emptied, "was cut"},
	"emptied and grown":  {emptiedAndGrown, "was cut"},
	"cut in the header":  {cutTo(func(int64) int64 { return 100 }), "was cut"},
	"cut in half":        {cutTo(func(size int64) int64 { return size / 2 }), "was cut"},
	"cut within a page":  {cutTo(func(size int64) int64 { return size/3 | 1 }), "was cut"},
	"cut piece by piece": {cutByPieces, "was cut"},
	"removed":            {func(file string, _ int64) error { return os.Remove(file) }, "was removed"},
}

// emptied is what a shell does for ": > FILE".
func emptied(file string, _ int64) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func emptiedAndGrown(file string, size int64) error {
	if err := emptied(file, size); err != nil {
		return err
	}
	return os.Truncate(file, size)
}

func cutTo(to func(size int64) int64) func(string, int64) error {
	return func(file string, size int64) error { return os.Truncate(file, to(size)) }
}

func cutByPieces(file string, size int64) error {
	for ; size > 0; size -= 1 << 20 {
		if err := os.Truncate(file, size); err != nil {
			return err
		}
	}
	return os.Truncate(file, 0)
}

// TestAProgramWhoseFlightFileIsCutGoesOn cuts the file while two threads for each processor write events as fast as they can, and
// lets the program work then.
func TestAProgramWhoseFlightFileIsCutGoesOn(t *testing.T) {
	cases, times := 0, max(1, timesEach(t)/5)
	for name, c := range cuts {
		for i := range times {
			t.Run(strings.ReplaceAll(name, " ", "-")+"/"+fmt.Sprint(i), func(t *testing.T) {
				v := start(t, flighttest.Dir(t), order{Goes: true})
				files, err := filepath.Glob(filepath.Join(v.dir, strconv.Itoa(v.command.Process.Pid)+"-*.flight"))
				if err != nil || len(files) != 1 {
					t.Fatalf("got flight files %q, %v; want one", files, err)
				}
				info, err := os.Stat(files[0])
				if err != nil {
					t.Fatal(err)
				}
				from := v.witness.rounds()
				if err := c.cut(files[0], info.Size()); err != nil {
					t.Fatal(err)
				}
				if !v.witness.until(from+10_000, v.ended) {
					t.Fatalf("it ended after %d wake-ups: %v\n%s", v.witness.rounds()-from, v.command.ProcessState, head(v.stderr.String()))
				}
				if _, err := io.WriteString(v.stdin, "work\n"); err != nil {
					t.Fatal(err)
				}
				v.end(death{code: 0, says: regexp.QuoteMeta(c.warns)})
				var got done
				if err := json.Unmarshal(v.stdout.Bytes(), &got); err != nil {
					t.Fatalf("%q: %v", v.stdout, err)
				}
				if got.Threads != workThreads {
					t.Errorf("it had %d threads, want %d", got.Threads, workThreads)
				}
				v.forget()
				cases++
			})
		}
	}
	if want := len(cuts) * times; cases != want {
		t.Errorf("%d programs lived on, want %d", cases, want)
	}
}

// goOn does the work of a worker once the test asks for it, prints what came of it, and ends the program as programs do. The recorder has noticed by then that its
// file is damaged: it looks once in a second.
func goOn(warned <-chan string) {
	var line string
	_, err := fmt.Scanln(&line)
	must(err)
	var d done
	d.Sum, d.Threads = addUp(func() {})
	select {
	case s := <-warned:
		fmt.Fprintln(os.Stderr, s)
	case <-time.After(patience):
	}
	must(json.NewEncoder(os.Stdout).Encode(d))
	must(flight.Close())
	os.Exit(0)
}
