package durable

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// Clone returns a thread that goes on from where this one stands, with another id; its children are cloned too. Both have learned the same so far, and each goes on
// by itself. What the thread has under way (a call, a move) the clone does itself, whatever its policy; signals that came and were not awaited yet come to both. The thread is
// not stopped: the clone goes on from its last step. Of a child the clone is a thread without a parent. The error matches [ErrDone], [ErrMoved], [ErrClosed] or [ErrStore], or is
// the scheduler's.
func (t *Thread) Clone() (*Thread, error) {
	t.mu.Lock()
	if err := t.hereLocked(); err != nil {
		t.mu.Unlock()
		return nil, err
	}
	if err := t.flushLocked(); err != nil { // else t could learn something else after a crash
		t.mu.Unlock()
		return nil, err
	}
	im := t.imageOfAllLocked()
	t.mu.Unlock()
	c, entries, err := t.cloneFrom(im, t.builder.newID())
	if err != nil {
		return nil, err
	}
	if err := t.tell(entries...); err != nil {
		return nil, err
	}
	return c, c.appear()
}

// imageOfAllLocked is imageLocked for a thread that may run, as its children may.
func (t *Thread) imageOfAllLocked() *journal.Image {
	im := t.imageLocked()
	var trim func(im *journal.Image)
	trim = func(im *journal.Image) {
		if n := len(im.Steps); n > 0 && im.Steps[n-1].Open && (im.Steps[n-1].Kind == journal.StepDo || im.Steps[n-1].Kind == journal.StepMove) {
			im.Steps = im.Steps[:n-1]
		}
		for i := range im.Children {
			trim(&im.Children[i])
		}
	}
	trim(&im)
	return &im
}

// cloneFrom makes a clone that does not run yet, and the entries that make it last.
func (t *Thread) cloneFrom(im *journal.Image, id string) (*Thread, []journal.Entry, error) {
	renamed(im, id)
	c, err := t.builder.restore(im, nil)
	if err != nil {
		return nil, nil, err
	}
	c.family = t.family
	c.mu.seen.restored = false
	return c, wholes(im, ""), nil
}

// appear lets a clone begin.
func (t *Thread) appear() error {
	t.family.Lock()
	t.family.clones = append(t.family.clones, t)
	t.family.Unlock()
	if k := t.builder.keeper; k != nil {
		k.mu.Lock()
		closed := k.mu.closed
		if !closed {
			k.mu.threads[t.id] = t
		}
		k.mu.Unlock()
		if closed {
			return ErrClosed // the next keeper of the store has it
		}
	}
	return t.beginAll()
}

// wholes are the entries that tell of a thread and its children.
func wholes(im *journal.Image, parent string) []journal.Entry {
	own := *im
	own.Children = nil
	all := []journal.Entry{{Thread: im.ID, Op: journal.OpWhole, Parent: parent, Image: &own}}
	for i := range im.Children {
		all = append(all, wholes(&im.Children[i], im.ID)...)
	}
	return all
}

// renamed gives a thread another id, and its children theirs.
func renamed(im *journal.Image, id string) {
	im.ID = id
	for i := range im.Children {
		renamed(&im.Children[i], childID(id, im.Children[i].Number))
	}
}

// Clones returns the clones that were made of the thread, of its clones, and so on, in this process.
func (t *Thread) Clones() []*Thread {
	t.family.Lock()
	defer t.family.Unlock()
	return append([]*Thread(nil), t.family.clones...)
}

// Choose returns a number from 0 to n-1: each of them, in a thread of its own. The calling thread goes on with 0, and a clone with each of the others. So a search is
// written as if every choice were the right one; a thread whose choices were wrong returns.
func Choose(t *Thread, name string, n int) int {
	s, _ := t.next(journal.StepChoice, name)
	if s != nil {
		i := decoded[int](t, s)
		if i < 0 || i >= n {
			t.divergesBack(fmt.Sprintf("%s, of which %d was chosen", s, i), fmt.Sprintf("%s of %d", s, n))
		}
		return i
	}
	if n <= 0 {
		panic("durable: a choice of none")
	}
	choice := func(i int) journal.Step {
		return journal.Step{Kind: journal.StepChoice, Name: name, Value: json.RawMessage(strconv.Itoa(i))}
	}
	apart := t.builder.keeper.sharing()
	if apart { // what they are made of lasts before they do
		t.mu.Lock()
		t.lastLocked(false)
	}
	var clones []*Thread
	var entries []journal.Entry
	for i := 1; i < n; i++ {
		t.mu.Lock()
		im := t.imageOfAllLocked()
		at := t.learnedLocked()
		t.mu.Unlock()
		im.Steps = append(im.Steps, choice(i))
		id := t.builder.newID()
		if apart {
			id = choiceID(t.id, at, i)
		}
		c, whole, err := t.cloneFrom(im, id)
		if err != nil {
			panic(err) // the registry has the body: this thread executes it
		}
		if apart {
			t.bear(c, whole)
			continue
		}
		clones, entries = append(clones, c), append(entries, whole...)
	}
	t.append(choice(0), false, entries...)
	for _, c := range clones {
		_ = c.appear() // an error ends it
	}
	return 0
}

// choiceID is the id of the clone that has the i-th choice of a thread that has learned so much. It is the same each time: in a [Shared] store a clone is a tree of its own, which
// is made before the choice lasts; who dies in between makes the choice again, and finds the clone.
func choiceID(id string, at, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s.%d.%d", id, at, i))
	return hex.EncodeToString(sum[:12])
}

// bear makes a clone last in a [Shared] store, and lets it begin, unless it is there. If that fails the thread leaves for good.
func (t *Thread) bear(c *Thread, entries []journal.Entry) {
	switch err := t.tell(entries...); {
	case err == nil:
		_ = c.appear() // an error ends it
	case !errors.Is(err, ErrExists):
		t.mu.Lock()
		t.mu.err = err
		t.mu.Unlock()
		t.exit()
	}
}
