package durable

import (
	"encoding/json"
	"strconv"
)

// Clone returns a thread that goes on from where this one stands, with another id; its children are cloned too. Both have learned the same so far, and each goes on
// by itself. What the thread has under way (a call) the clone does itself. The thread is not stopped: the clone goes on from its last step. The error matches [ErrDone] or
// [ErrMoved], or is the scheduler's.
func (t *Thread) Clone() (*Thread, error) {
	t.mu.Lock()
	if err := t.overLocked(); err != nil {
		t.mu.Unlock()
		return nil, err
	}
	im := t.imageOfAllLocked()
	t.mu.Unlock()
	c, entries, err := t.cloneFrom(im)
	if err != nil {
		return nil, err
	}
	if err := t.tell(entries...); err != nil {
		return nil, err
	}
	return c, c.appear()
}

// imageOfAllLocked is imageLocked for a thread that may run, as its children may.
func (t *Thread) imageOfAllLocked() *image {
	im := t.imageLocked()
	var trim func(im *image)
	trim = func(im *image) {
		if n := len(im.Steps); n > 0 && im.Steps[n-1].Open && im.Steps[n-1].Kind == StepDo {
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
func (t *Thread) cloneFrom(im *image) (*Thread, []Entry, error) {
	renamed(im, newID())
	c, err := t.builder.restore(im, nil)
	if err != nil {
		return nil, nil, err
	}
	c.family = t.family
	return c, wholes(im, ""), nil
}

// appear lets a clone begin.
func (t *Thread) appear() error {
	t.family.Lock()
	t.family.clones = append(t.family.clones, t)
	t.family.Unlock()
	if k := t.builder.keeper; k != nil {
		k.mu.Lock()
		k.mu.threads[t.id] = t
		k.mu.Unlock()
	}
	return t.beginAll()
}

// wholes are the entries that tell of a thread and its children.
func wholes(im *image, parent string) []Entry {
	own := *im
	own.Children = nil
	all := []Entry{{Thread: im.ID, Op: OpWhole, Parent: parent, Image: &own}}
	for i := range im.Children {
		all = append(all, wholes(&im.Children[i], im.ID)...)
	}
	return all
}

// renamed gives a thread another id, and its children theirs.
func renamed(im *image, id string) {
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
	s, _ := t.next(StepChoice, name)
	if s != nil {
		return decoded[int](t, s)
	}
	if n <= 0 {
		panic("durable: a choice of none")
	}
	choice := func(i int) Step {
		return Step{Kind: StepChoice, Name: name, Value: json.RawMessage(strconv.Itoa(i))}
	}
	var clones []*Thread
	var entries []Entry
	for i := 1; i < n; i++ {
		t.mu.Lock()
		im := t.imageOfAllLocked()
		t.mu.Unlock()
		im.Steps = append(im.Steps, choice(i))
		c, whole, err := t.cloneFrom(im)
		if err != nil {
			panic(err) // the registry has the body: this thread executes it
		}
		clones, entries = append(clones, c), append(entries, whole...)
	}
	t.append(choice(0), false, entries...)
	for _, c := range clones {
		_ = c.appear() // an error ends it
	}
	return 0
}
