package vthread

import (
	"github.com/vtscope/vtscope/runtime/flight"
)

// Main executes f as thread 1, named "main", waits for it, and closes the flight file, so that whoever looks
// at it later sees that the program ended and was not killed. It is meant to be all that func main does. Go has
// no way to run code when a program ends: a program that calls os.Exit, or does not use Main,
// should call [flight.Close].
func Main(f func()) {
	defer flight.Close()
	t := &Thread{f: f}
	name := "main"
	t.name.Store(&name)
	t.task.Init(mainID, (*body)(t), nil)
	if err := t.task.Start(Builder{Name: name}.birth(f)); err != nil {
		panic("vthread: start main: " + err.Error())
	}
	t.Join()
}
