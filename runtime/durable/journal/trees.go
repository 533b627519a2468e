package journal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Trees are the threads that entries tell of. The zero value has none.
type Trees struct{ all map[string]*kept }

// A kept is a thread without its children.
type kept struct {
	Image
	parent string
}

// Apply takes an entry; those of one thread come in their order. What cannot be is [ErrDamaged].
func (t *Trees) Apply(e *Entry) error {
	bad := func(why string) error {
		return fmt.Errorf("%w: %s of thread %.40q: %s", ErrDamaged, e.Op, e.Thread, why)
	}
	k := t.all[e.Thread]
	switch e.Op {
	case OpNew, OpWhole:
		if k != nil {
			return bad("there is one")
		}
		k = &kept{parent: e.Parent}
		if e.Op == OpWhole {
			if e.Image == nil {
				return bad("no image")
			}
			k.Image = *e.Image
		} else {
			k.Image = Image{ID: e.Thread, Body: e.Body, Args: e.Args, Steps: []Step{}, Number: e.Number, Begun: e.At}
		}
		if t.all == nil {
			t.all = map[string]*kept{}
		}
		t.all[e.Thread] = k
		return nil
	case OpDrop:
		delete(t.all, e.Thread)
		return nil
	case OpBase:
		if e.Image != nil { // what was before may have been forgotten
			if t.all == nil {
				t.all = map[string]*kept{}
			}
			t.all[e.Thread] = &kept{Image: *e.Image, parent: e.Parent}
			return nil
		}
	}
	if k == nil && e.Inbox > 0 {
		return nil // it came when the thread had ended
	}
	if k == nil {
		return bad("there is none")
	}
	switch e.Op {
	case OpStep, OpSet, OpBase:
		if e.Step == nil {
			return bad("no step")
		}
	}
	switch e.Op {
	case OpStep:
		k.Steps = append(k.Steps, *e.Step)
		if e.Step.Kind == StepFork {
			k.Forks = max(k.Forks, e.Number)
		}
	case OpSet:
		if len(k.Steps) == 0 {
			return bad("no step is there")
		}
		k.Steps[len(k.Steps)-1] = *e.Step
		switch e.Step.Kind {
		case StepSignal:
			if waiting := k.Inbox[e.Step.Name]; len(waiting) > 1 {
				waiting[0] = nil // the rest is not copied for each one that is taken
				k.Inbox[e.Step.Name] = waiting[1:]
			} else {
				delete(k.Inbox, e.Step.Name)
			}
		case StepPark:
			k.Permit = false
		}
	case OpBase:
		k.Since, k.Steps = e.Since, []Step{*e.Step}
	case OpSignal:
		if k.Inbox == nil {
			k.Inbox = map[string][]json.RawMessage{}
		}
		k.Inbox[e.Name] = append(k.Inbox[e.Name], e.Value)
	case OpUnpark:
		k.Permit = true
	case OpEnd:
		k.Ended, k.EndedAt, k.Result, k.Err = true, e.At, e.Value, e.Err
	case OpLease, OpRelease:
	default:
		return bad("unknown")
	}
	return nil
}

// Wholes tell all of each thread: applied to empty trees they make the same ones. What is yielded together is of one thread, and much less than a record of these limits may be, or one
// entry: so what was recorded with them in many records can be told in as many as it takes.
func (t *Trees) Wholes(l Limits) iter.Seq[[]Entry] {
	const enough = 8 << 20
	size := enough
	if l, err := l.checked(); err == nil { // else the first record tells
		written, _ := l.record()
		size = min(enough, written/8, l.Memory/8) // a character may be six
	}
	return t.wholes(size)
}

func (t *Trees) wholes(size int) iter.Seq[[]Entry] {
	return func(yield func([]Entry) bool) {
		for id, k := range t.all {
			if !k.pieces(id, size, yield) {
				return
			}
		}
	}
}

// pieces yields what makes a thread.
func (k *kept) pieces(id string, size int, yield func([]Entry) bool) bool {
	if rough(&k.Image) <= size {
		return yield([]Entry{{Thread: id, Op: OpWhole, Parent: k.parent, Image: &k.Image}})
	}
	first := k.Image
	first.Steps, first.Inbox, first.Ended, first.EndedAt, first.Result, first.Err = []Step{}, nil, false, time.Time{}, nil, ""
	piece, text := []Entry{{Thread: id, Op: OpWhole, Parent: k.parent, Image: &first}}, len(first.Args)
	add := func(e Entry, bytes int) bool {
		if text += bytes; text > size && len(piece) > 0 {
			if !yield(piece) {
				return false
			}
			piece, text = nil, bytes
		}
		piece = append(piece, e)
		return true
	}
	for i := range k.Steps {
		if s := &k.Steps[i]; !add(Entry{Thread: id, Op: OpStep, Step: s}, roughStep+len(s.Value)+len(s.Err)) {
			return false
		}
	}
	for name, all := range k.Inbox {
		for _, v := range all {
			if !add(Entry{Thread: id, Op: OpSignal, Name: name, Value: v}, roughStep+len(v)) {
				return false
			}
		}
	}
	if k.Ended && !add(Entry{Thread: id, Op: OpEnd, At: k.EndedAt, Value: k.Result, Err: k.Err}, len(k.Result)+len(k.Err)) {
		return false
	}
	return yield(piece)
}

// roughStep is about what a step or a signal has as text beside its value.
const roughStep = 400

// rough is about how much text an image has.
func rough(im *Image) int {
	n := len(im.Args) + len(im.Result) + len(im.Err) + roughStep*len(im.Steps)
	for i := range im.Steps {
		n += len(im.Steps[i].Value) + len(im.Steps[i].Err)
	}
	for _, all := range im.Inbox {
		for _, v := range all {
			n += roughStep + len(v)
		}
	}
	return n
}

// Roots puts children into their parents and returns those that have none, sorted by id. A child without its parent is left out: nobody can ask for it. It is the last
// thing that t is asked for.
func (t *Trees) Roots() []*Image {
	var ids []string
	for id := range t.all {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return len(b) - len(a) }) // children have longer ids: they are put in before their parents are
	var roots []*Image
	for _, id := range ids {
		k := t.all[id]
		slices.SortFunc(k.Children, func(a, b Image) int { return a.Number - b.Number })
		if k.parent == "" {
			roots = append(roots, &k.Image)
		} else if p := t.all[k.parent]; p != nil {
			p.Forks = max(p.Forks, k.Number)
			p.Children = append(p.Children, k.Image)
		}
	}
	slices.SortFunc(roots, func(a, b *Image) int { return cmp.Compare(a.ID, b.ID) })
	return roots
}
