package vthread

import (
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// Main executes f as a thread named "main", waits for it, and closes the flight file, so that whoever looks
// at it later sees that the program ended and was not killed. It is meant to be all that func main does. Go has
// no way to run code when a program ends: a program that calls os.Exit, or does not use Main,
// should call [flight.Close].
func Main(f func()) {
	defer flight.Close()
	t := Builder{Name: "main"}.Start(f)
	_ = t.joinFor(sched.Limits{}, flight.ReasonNone) // no wait that anybody wants to see. It has no limits, and so no error
}
