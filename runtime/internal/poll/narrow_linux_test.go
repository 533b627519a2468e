package poll_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// narrow returns a pipe of one page.
func narrow(t testing.TB) (r, w *end) {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fds[1]), unix.F_SETPIPE_SZ, unix.Getpagesize()); err != nil {
		t.Fatal(err)
	}
	return newEnd(t, fds[0]), newEnd(t, fds[1])
}

// room is what a narrow pipe has room for, at once or not at all.
func room() int { return unix.Getpagesize() }

// TestNothingIsLostBetweenReadingAndWriting has room for one ball only: who throws it waits until there is none, and who catches it until there is one.
func TestNothingIsLostBetweenReadingAndWriting(t *testing.T) {
	r, w := narrow(t)
	out, in := make([]byte, room()), make([]byte, room())
	play(t, []*end{r, w}, func(round int) error {
		out[0] = byte(round)
		n, err := w.write(out)
		if err == nil && n != len(out) {
			err = fmt.Errorf("wrote %d of %d", n, len(out))
		}
		return err
	}, func(round int) error {
		for n := 0; n < len(in); {
			m, err := r.read(in[n:])
			if n += m; err != nil {
				return err
			}
		}
		if in[0] != byte(round) {
			return fmt.Errorf("got %d", in[0])
		}
		return nil
	})
	if tries, rounds := w.tries.Load()+r.tries.Load(), int64(rounds()); tries < 2*rounds+rounds/1000 { // how often one is too early is the processors' affair
		t.Errorf("%d tries for %d balls: nobody had to wait", tries, rounds)
	}
}
