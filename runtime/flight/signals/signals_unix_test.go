//go:build unix

package signals_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/signals"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func marks(t *testing.T) (n uint64) {
	t.Helper()
	r, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rings, err := r.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for i := range rings {
		n += rings[i].Counts[flight.EventMark]
	}
	return n
}

func TestASignalIsAnEvent(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	before := marks(t)
	stop := signals.Record(syscall.SIGUSR2)
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); marks(t) == before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no event after a minute")
		}
	}
	stop()
	stop()
	signals.Record()()
}
