package jetstream

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
)

// deadAfter is how many beats of this participant another one's may be missing.
const deadAfter = 10

// A member is a participant, as far as this one knows.
//
//	M1  Silence is counted in beats of this participant that came back to it from the servers. So nobody is silent because this one was stopped, or was cut off.
type member struct {
	heard  bool // since this one began
	silent int
	load   int
	name   string
}

// A beat tells that a participant is alive.
type beat struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Trees  int    `json:"trees"`
	Leaves bool   `json:"leaves,omitempty"` // it is the last
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

// dead reports whether a participant has been silent for the lease. The caller has the lock.
func (x *index) dead(id string) bool { return x.memberOf(id).silent >= deadAfter }

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
		other.heard, other.silent, other.load, other.name = true, 0, b.Trees, b.Name
		if b.Leaves {
			other.silent = deadAfter
			x.died(b.ID)
		}
	})
	return err
}

// tick counts the silence of the others. The caller has the lock.
func (x *index) tick() {
	for id, m := range x.mu.members {
		if m.silent++; m.silent == deadAfter {
			x.died(id)
		}
		if m.silent == 100*deadAfter { // nobody has heard of it for long
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
			x.mu.members[id].silent = deadAfter + 1
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
		x.say(beat{ID: x.s.id, Name: x.s.options.Name, Trees: x.s.load()})
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
	x.say(beat{ID: x.s.id, Name: x.s.options.Name, Leaves: true})
	_ = x.s.nc.FlushTimeout(x.s.options.Patience) // if it is not heard, the lease ends later
}
