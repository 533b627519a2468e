package flight

import "time"

// A background is a recorder's goroutine: it names new stacks, makes room ahead of need, keeps
// heartbeat and clock anchor fresh, tells of garbage collections, and looks whether somebody asks at the control socket. Its
// channels are made outside of any testing/synctest bubble, and so is the goroutine: one of a bubble
// may start a recorder, but its clock is false and it dies with the bubble.
type background struct {
	start chan *Recorder
	wake  chan struct{}
	stop  chan struct{}
	done  chan struct{}
}

// handouts offers backgrounds to [New].
var handouts = make(chan *background)

// The goroutine started here makes backgrounds on demand for the life of the process; package
// init never runs in a bubble.
func init() { go offer() }

func offer() {
	for {
		b := &background{
			start: make(chan *Recorder),
			wake:  make(chan struct{}, 1),
			stop:  make(chan struct{}),
			done:  make(chan struct{}),
		}
		handouts <- b
		go b.run()
	}
}

const heartbeatEvery = time.Second

func (b *background) run() {
	defer close(b.done)
	r := <-b.start
	r.sweepDir()
	control := r.listen()
	defer control.close()
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	var gc *gcWatch
	var collected <-chan struct{}
	if r.options.Collections {
		gc = watchGC()
		collected = gc.ended
	}
	var circles circleWatch
	var look <-chan time.Time
	if watchesCircles {
		often := time.NewTicker(circlesEvery)
		defer often.Stop()
		look = often.C
	}
	for {
		r.symbolise()
		r.makeRoom()
		select {
		case <-tick.C:
			r.beat()
			control.look()
		case <-collected:
			gc.tell(r)
		case <-look:
			circles.look(r)
		case <-b.wake:
		case <-b.stop:
			r.symbolise()
			return
		}
	}
}

// poke wakes the background goroutine. It never waits.
func (r *Recorder) poke() {
	if r.back == nil {
		return
	}
	select {
	case r.back.wake <- struct{}{}:
	default:
	}
}

// makeRoom reserves segments before those who need them would have to wait for it.
func (r *Recorder) makeRoom() {
	r.stacks.makeRoom(r)
	r.threads.makeRoom(r)
}
