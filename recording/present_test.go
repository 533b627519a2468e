package recording

import (
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A recording that begins in what is to come takes threads that start until then for such as have ended before.
func TestThePresentOfAPollIsNotToCome(t *testing.T) {
	r, err := flight.Default().Reader()
	if err != nil {
		t.Skipf("the recorder is off: %v", err)
	}
	defer r.Close()
	c := newClock(r, r.Now())
	p := &poller{r: r, c: c, now: func() flight.Ticks {
		time.Sleep(30 * time.Millisecond) // to ask takes as long where there are few processors
		return r.Now()
	}}
	p.tune()
	if at, now := p.present(), c.time(r.Now()); at > now {
		t.Errorf("got a present that is %v to come", at-now)
	}
}

// A ring that nobody has looked at may have events of before: polls take their time, too.
func TestAPollTellsHowFarAllRingsWereRead(t *testing.T) {
	rec, err := flight.New(flight.Options{Mode: flight.ModePrivate})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	r, err := rec.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := newClock(r, r.Now())
	f, err := newFollower(r, c, false)
	if err != nil {
		t.Fatal(err)
	}
	p := &poller{r: r, f: f, c: c, now: r.Now, o: Options{waiting: maxWaiting}, queue: make(chan polled, 1)}
	p.tune()
	upTo, events := time.Duration(0), 0
	const polls = 4 * allEvery
	for i := range polls {
		rec.AcquireRing(flight.CarrierID(i+1), 0, 16).Emit(flight.Now(), flight.EventCarrierStart, 0, 0, 0, 0)
		time.Sleep(time.Millisecond)
		p.poll(i == polls-1)
		m := <-p.queue
		for _, e := range m.events {
			if events++; e.Time < upTo {
				t.Errorf("poll %d has an event of %v before the time up to which all was read", i, upTo-e.Time)
			}
		}
		upTo = m.upTo
	}
	if events != polls || upTo == 0 {
		t.Errorf("got %d events up to %v, want %d", events, upTo, polls)
	}
}
