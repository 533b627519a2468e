package jetstream

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
)

// deadAfter is how many beats of this participant another one's may be missing, if its lease is not longer than that of this one. So often it says something within its lease.
const deadAfter = 10

// A member is a participant, as far as this one knows.
//
//	M1  Silence is counted in beats of this participant that came back to it from the servers. So nobody is silent because this one was stopped, or was cut off.
type member struct {
	heard  bool // since this one began
	silent int
	dead   bool // it was noticed that it is
	load   int
	name   string
	lease  time.Duration // its own, by which others have patience with it; 0: not known
}

// A beat tells that a participant is alive.
type beat struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Trees  int    `json:"trees"`
	Leaves bool   `json:"leaves,omitempty"` // it is the last

	Lease time.Duration `json:"lease_ns,omitempty"` // if it is not the usual one
}

// usualLease is the default of [Options.Lease], and longestLease the longest that others have patience for.
const (
	usualLease   = 10 * time.Second
	longestLease = 24 * time.Hour
)

// toldLease is how a lease is told, and leaseTold the opposite.
func toldLease(lease time.Duration) time.Duration {
	if lease == usualLease {
		return 0
	}
	return lease
}

func leaseTold(told time.Duration) time.Duration {
	if told <= 0 {
		return usualLease
	}
	return min(told, longestLease)
}

// memberOf returns what is known of a participant. The caller has the lock.
func (x *index) memberOf(id string) *member {
	m := x.mu.members[id]
	if m == nil {
		m = &member{}
		x.mu.members[id] = m
	}
	return m
}

// dead reports whether a participant has been silent for its lease, or that of this one if that is longer. The caller has the lock.
func (x *index) dead(id string) bool { return x.isDead(x.memberOf(id)) }

func (x *index) isDead(m *member) bool { return m.silent >= x.patience(m) }

// patience is how many beats of this participant another one's may be missing.
func (x *index) patience(m *member) int {
	own := x.s.options.Lease
	if m.lease <= own {
		return deadAfter
	}
	return int((m.lease*deadAfter + own - 1) / own)
}

// listen begins to hear beats.
func (x *index) listen() error {
	_, err := x.s.nc.Subscribe(x.s.names.alive(), func(m *nats.Msg) {
		var b beat
		if json.Unmarshal(m.Data, &b) != nil || b.ID == "" {
			return
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		if b.ID == x.s.id {
			x.tick()
			return
		}
		other := x.memberOf(b.ID)
		other.heard, other.silent, other.dead, other.load, other.name, other.lease = true, 0, false, b.Trees, b.Name, leaseTold(b.Lease)
		if b.Leaves {
			other.silent, other.dead = x.patience(other), true
			x.died(b.ID)
		}
	})
	return err
}

// tick counts the silence of the others. The caller has the lock.
func (x *index) tick() {
	for id, m := range x.mu.members {
		if m.silent++; !m.dead && x.isDead(m) {
			m.dead = true
			x.died(id)
		}
		if m.silent >= 100*x.patience(m) { // nobody has heard of it for long
			x.forget(id)
		}
	}
}

// died looks at the trees of one that is dead. The caller has the lock.
func (x *index) died(id string) {
	for root, e := range x.mu.trees {
		if e.head.Owner == id {
			x.considerLocked(root)
		}
	}
}

// forget removes a member that has no trees. The caller has the lock.
func (x *index) forget(id string) {
	for _, e := range x.mu.trees {
		if e.head.Owner == id {
			x.mu.members[id].silent = x.patience(x.mu.members[id])
			return
		}
	}
	delete(x.mu.members, id)
}

// beat tells the others that this one is alive, until ctx ends.
func (x *index) beat(ctx context.Context) {
	t := time.NewTicker(x.s.options.Lease / deadAfter)
	defer t.Stop()
	for {
		x.say(beat{ID: x.s.id, Name: x.s.options.Name, Trees: x.s.load(), Lease: toldLease(x.s.options.Lease)})
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

func (x *index) say(b beat) {
	text, err := json.Marshal(b)
	if err == nil {
		err = x.s.nc.Publish(x.s.names.alive(), text)
	}
	if err != nil {
		x.s.setTrouble(err)
	}
}

// leave tells the others that this one has gone.
func (x *index) leave() {
	if x.consume != nil {
		x.consume.Stop()
	}
	x.say(beat{ID: x.s.id, Name: x.s.options.Name, Leaves: true, Lease: toldLease(x.s.options.Lease)})
	_ = x.s.nc.FlushTimeout(x.s.options.Patience) // if it is not heard, the lease ends later
}
