package durable

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A process tells of the threads of its keepers when it is asked through the control socket (flight.Command). Who asks never waits for a thread, and no thread for who asks: a
// thread whose lock is held is told as busy.

func init() {
	err := flight.RegisterCommand(flight.Command{
		Name: journal.Command, About: "tell the durable threads of its keepers, or the history of one", Long: true,
		Do: func(_ *flight.Recorder, stop <-chan struct{}, body []byte) ([]byte, error) {
			return told.answer(stop, body)
		},
	})
	if err != nil {
		panic(err)
	}
}

// pageRows is how many rows an answer has, and those of one tree more. Only tests change it.
var pageRows = 50_000

// told are the keepers that the process tells of.
var told keepers

type keepers struct {
	sync.Mutex
	all []*Keeper
}

func (ks *keepers) add(k *Keeper) {
	ks.Lock()
	defer ks.Unlock()
	ks.all = append(ks.all, k)
}

func (ks *keepers) remove(k *Keeper) {
	ks.Lock()
	defer ks.Unlock()
	ks.all = slices.DeleteFunc(ks.all, func(o *Keeper) bool { return o == k })
}

const (
	patience   = 500 * time.Millisecond // for all threads of an answer whose locks are held
	patienceOf = 2 * time.Second        // for the one whose history is asked for
)

func (ks *keepers) answer(stop <-chan struct{}, body []byte) ([]byte, error) {
	var q journal.Question
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, fmt.Errorf("durable: a question that is none: %w", err)
	}
	ks.Lock()
	all := slices.Clone(ks.all)
	ks.Unlock()
	if q.Thread != "" {
		return history(all, &q)
	}
	return list(stop, all, &q)
}

// list tells the rows of at most a page of roots, in the order of their ids, with their children.
func list(stop <-chan struct{}, all []*Keeper, q *journal.Question) ([]byte, error) {
	a := journal.Answer{Rows: []journal.DurableRow{}}
	var roots []*Thread
	for _, k := range all {
		a.Stores = append(a.Stores, k.store())
		k.mu.Lock()
		for id, t := range k.mu.threads {
			if id > q.After || q.After == "" {
				roots = append(roots, t)
			}
		}
		k.mu.Unlock()
	}
	slices.SortFunc(roots, func(a, b *Thread) int { return cmp.Compare(a.id, b.id) })
	until := time.Now().Add(patience)
	for i, t := range roots {
		select {
		case <-stop:
			return nil, errors.New("durable: the process ends")
		default:
		}
		a.Rows = t.rows(a.Rows, until)
		if len(a.Rows) >= pageRows && i < len(roots)-1 {
			a.Next = t.id
			break
		}
	}
	return json.Marshal(a)
}

// store is what people call the keeper's store.
func (k *Keeper) store() journal.StoreTold {
	s := journal.StoreTold{Kind: fmt.Sprintf("%T", k.options.Store)}
	if f, ok := k.options.Store.(*FileStore); ok {
		s = journal.StoreTold{Kind: journal.Folders, Path: f.dir}
		if full, err := filepath.Abs(f.dir); err == nil {
			s.Path = full
		}
	}
	return s
}

// within takes the thread's lock, unless it is held until then.
func (t *Thread) within(until time.Time) bool {
	for !t.mu.TryLock() {
		if !time.Now().Before(until) {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}

func (t *Thread) busy() journal.DurableRow {
	return journal.DurableRow{ID: t.id, Body: t.body.name, State: journal.Busy, Begun: t.begun}
}

// rows appends the thread's row and those of its children.
func (t *Thread) rows(to []journal.DurableRow, until time.Time) []journal.DurableRow {
	if !t.within(until) {
		return append(to, t.busy())
	}
	row := t.rowLocked()
	children := t.childrenLocked()
	t.mu.Unlock()
	to = append(to, row)
	for _, c := range children {
		to = c.rows(to, until)
	}
	return to
}

// childrenLocked returns the children that were not joined yet, in order. Nobody counts up to the number of forks, which is in bytes from anywhere.
func (t *Thread) childrenLocked() []*Thread {
	if len(t.mu.children) == 0 {
		return nil
	}
	var all []*Thread
	for _, c := range t.mu.children {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *Thread) int { return a.number - b.number })
	return all
}

// ownLocked is the thread's image without its children, which shares all with it: what is made of it is made with the lock.
func (t *Thread) ownLocked() *journal.Image {
	im := &journal.Image{
		ID: t.id, Body: t.body.name, Args: t.args, Steps: t.mu.journal.steps, Since: t.mu.journal.since, Inbox: t.mu.inbox, Permit: t.mu.permit, Begun: t.begun,
	}
	if t.mu.state == Done {
		im.Ended, im.EndedAt, im.Result = true, t.mu.endedAt, t.mu.result
		if t.mu.err != nil {
			im.Err = cmp.Or(t.mu.err.Error(), "error without a text")
		}
	}
	return im
}

func (t *Thread) rowLocked() journal.DurableRow {
	r := journal.RowOf(t.ownLocked())
	t.standLocked(&r)
	return r
}

// standLocked tells of a row what only a process knows.
func (t *Thread) standLocked(r *journal.DurableRow) {
	r.Children = len(t.mu.children)
	switch {
	case t.mu.state == Done:
		if errors.As(t.mu.err, new(*Divergence)) {
			r.State = journal.Diverged
		}
	case t.mu.state == Moved, t.mu.state == Away:
		r.State, r.Wait = journal.Moved, nil
	case t.mu.leave == toBytes, t.mu.leave == toClose, t.mu.leave == toStore:
		r.State = journal.Stopping
	case t.mu.state == Hibernated:
		r.State = journal.Hibernated
	case t.mu.wait.kind != journal.StepNone:
		r.State = journal.Waiting
	default:
		r.State = journal.Running
	}
}

func history(all []*Keeper, q *journal.Question) ([]byte, error) {
	until := time.Now().Add(patienceOf)
	for _, k := range all {
		k.mu.Lock()
		t := k.mu.threads[q.Thread]
		if t == nil { // a child: the ids of those above it begin its own
			for i := len(q.Thread) - 1; i > 0 && t == nil; i-- {
				if q.Thread[i] == '/' {
					t = k.mu.threads[q.Thread[:i]]
				}
			}
		}
		k.mu.Unlock()
		if t == nil {
			continue
		}
		h, err := t.find(q, until)
		if h == nil && err == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		return json.Marshal(journal.Answer{Stores: []journal.StoreTold{k.store()}, History: h})
	}
	return json.Marshal(journal.Answer{})
}

// find tells of a thread, or of the one below it that is asked for; nil if there is none.
func (t *Thread) find(q *journal.Question, until time.Time) (*journal.History, error) {
	if t.id != q.Thread && !strings.HasPrefix(q.Thread, t.id+"/") {
		return nil, nil
	}
	if !t.within(until) {
		return nil, fmt.Errorf("durable: thread %s is held by its store, which has not answered yet", t.id)
	}
	children := t.childrenLocked()
	if t.id != q.Thread {
		t.mu.Unlock()
		for _, c := range children {
			if h, err := c.find(q, until); h != nil || err != nil {
				return h, err
			}
		}
		return nil, nil
	}
	h := journal.HistoryOf(t.ownLocked(), q.Look)
	t.standLocked(&h.Row)
	if t.mu.state == Running || t.mu.state == Hibernated {
		h.Thread = uint64(t.mu.seen.as)
	}
	t.mu.Unlock()
	for _, c := range children {
		if c.within(until) {
			h.Children = append(h.Children, c.rowLocked())
			c.mu.Unlock()
		} else {
			h.Children = append(h.Children, c.busy())
		}
	}
	return h, nil
}
