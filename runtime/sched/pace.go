package sched

// paceEvery is after how much that did not wait a thread lets others go on: an operation counts for one, and for one more for each page that it moved. In system calls
// that is 50 to 200 µs.
const paceEvery = 128

// Pace tells that the thread t, the caller, has made an operation that would have been a scheduling point if it had had to wait, and that moved so many bytes. After
// enough of them since t was mounted it yields, if others wait for its carrier: one who reads what is always there computes, as far as the others can tell, and
// would hold its carrier for as long. A pinned thread keeps its carrier, and one with a goroutine of its own is Go's to schedule.
func (t *Task) Pace(bytes int) {
	c := t.on
	if c.unwaited += uint32(1 + uint(bytes)>>12); c.unwaited < paceEvery {
		return
	}
	c.unwaited = 0
	switch w := c.worker; {
	case c.ret == nil, t.marks.Load() >= pinStep, !c.ret.Fits(), Simulating():
	case w != nil && !w.hasMore():
		w.progress()
	default:
		t.leaveYielding(c)
	}
}
