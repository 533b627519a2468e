package signals

import (
	"os"
	"os/signal"
	"sync"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Kind is the name of the kind of events.
const Kind = "vtscope.Signal"

var (
	name     = flight.TextField("name")
	received = flight.Register(Kind, name)
)

// Record makes each of these signals an event, until stop is called. As with [signal.Notify], they do then nothing else, unless others ask for them, too. Without signals Record
// does nothing.
func Record(sigs ...os.Signal) (stop func()) {
	if len(sigs) == 0 {
		return func() {}
	}
	came := make(chan os.Signal, 16)
	var done sync.WaitGroup
	done.Go(func() {
		for s := range came {
			received.Mark(name.Is(s.String()))
		}
	})
	signal.Notify(came, sigs...)
	return sync.OnceFunc(func() {
		signal.Stop(came)
		close(came)
		done.Wait()
	})
}
