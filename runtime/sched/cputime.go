package sched

import "github.com/vtscope/vtscope/runtime/flight"

// A cpuMark is how long an OS thread had been on a processor when a thread was mounted. The zero value: it is not measured.
type cpuMark struct {
	osThread int
	used     int64 // nanoseconds
}

// cpuBegins notes the mark, if the settings of the recorder ask for it. follows tells that a thread has just left the carrier: its last mark serves both.
func (c *carrier) cpuBegins(r *flight.Recorder, follows bool) {
	switch {
	case !r.MeasuresCPU():
		c.cpu.osThread = 0
	case !follows || c.cpuLeft.osThread == 0:
		c.cpu = markCPU()
	default:
		c.cpu = c.cpuLeft
	}
	c.cpuLeft.osThread = 0
}

// cpuEnds adds what the thread of rec, about to leave its carrier now, has used since the mark. If Go has moved the goroutine to another
// OS thread meanwhile, that is not known: all the time since it was mounted counts.
func (c *carrier) cpuEnds(rec *flight.Record, now flight.Ticks) {
	if c.cpu.osThread == 0 {
		return
	}
	all := now - rec.Since()
	if c.cpuLeft = markCPU(); c.cpuLeft.osThread == c.cpu.osThread {
		all = min(all, flight.TicksOf(c.cpuLeft.used-c.cpu.used))
	}
	rec.UsedCPU(all)
	c.cpu.osThread = 0
}
