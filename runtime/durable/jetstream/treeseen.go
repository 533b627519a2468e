package jetstream

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// A TreeSeen is a tree as a [Reader] has found it. Over, Ended and Err are as far as the last message tells.
type TreeSeen struct {
	Tree
	At      time.Time // of its last message, by the clock of the servers
	Over    bool
	Ended   bool // its root has, and children may go on
	Err     string
	Silent  bool           // its owner was not heard of for as long as says that it is dead, or cut off
	Root    *journal.Image // nil: its journal was not read, or see Trouble
	Inbox   map[string]int // signals and permits that nobody has taken, by thread; if the journal was not read all of them by root
	Moves   []journal.LeaseMove
	Trouble error // why its journal cannot be read

	owner   string        // the participant's id
	term    time.Duration // the lease of the participant
	unheard bool          // as [Member.Unheard]
	told    bool          // its inbox had more than its head has taken
}

// since is since when a tree is as it is.
func (t *TreeSeen) since() time.Time {
	if t.Since.IsZero() {
		return t.At
	}
	return t.Since
}

// seenBy tells what the last message of a tree tells.
func (r *Reader) seenBy(root string, m *message) (*TreeSeen, *head) {
	h, err := headOf(m.header)
	t := &TreeSeen{
		Tree:  Tree{ID: root, Body: h.Body, Owner: h.Name, Waits: h.State == waits, Until: h.Until, For: h.For, Since: h.Since, Leases: h.Moves, Misfits: h.Misfits},
		At:    m.at(),
		Over:  h.State == over,
		Ended: h.Ended, Trouble: err, owner: h.Owner, term: leaseTold(h.Lease),
	}
	if h.Ended && err == nil {
		entries, _ := r.limits.UnpackEntries(m.data) // who reads the journal tells
		for i := range entries {
			if e := &entries[i]; e.Op == journal.OpEnd && e.Thread == root {
				t.Err = e.Err
			}
		}
	}
	return t, &h
}

// at returns when the servers took a message.
func (m *message) at() time.Time {
	at, _ := time.Parse(time.RFC3339Nano, m.header.Get("Nats-Time-Stamp")) // zero: not known
	return at
}

// image returns the root of a tree that was read.
func (r *treeRead) image(root string) (*journal.Image, error) {
	var trees journal.Trees
	for i := range r.entries {
		if err := trees.Apply(&r.entries[i]); err != nil {
			return nil, err
		}
	}
	roots := trees.Roots()
	if len(roots) != 1 || roots[0].ID != root {
		return nil, fmt.Errorf("%w: %d roots, want %s", journal.ErrDamaged, len(roots), root)
	}
	return roots[0], nil
}

// moves tells who has had a tree. The messages before its last checkpoint are gone, and what they told of it.
func (r *Reader) moves(all []message) (moves []journal.LeaseMove) {
	for i := range all {
		m := &all[i]
		h, err := headOf(m.header)
		if err != nil {
			continue
		}
		last := len(moves) - 1
		entries, _ := r.limits.UnpackEntries(m.data)
		lease := slices.ContainsFunc(entries, func(e journal.Entry) bool { return e.Op == journal.OpLease })
		begins := slices.ContainsFunc(entries, func(e journal.Entry) bool {
			return (e.Op == journal.OpNew || e.Op == journal.OpWhole) && e.Parent == ""
		})
		switch {
		case h.Owner != "" && (lease || last < 0 || !moves[last].To.IsZero()):
			if last >= 0 && moves[last].To.IsZero() {
				moves[last].To = m.at()
			}
			move := journal.LeaseMove{Holder: h.Name, From: m.at()}
			if !lease && !begins {
				move.From = time.Time{}
			}
			moves = append(moves, move)
		case h.Owner == "" && last >= 0 && moves[last].To.IsZero():
			moves[last].To, moves[last].Given = m.at(), h.State != over
			for i := range entries {
				if entries[i].Op == journal.OpRelease {
					moves[last].Err = entries[i].Err
				}
			}
		}
	}
	return moves[max(0, len(moves)-mostMoves):]
}

// Row tells of one of a tree's threads what its journal does, and the tree does.
func (t *TreeSeen) Row(im *journal.Image) journal.DurableRow {
	r := journal.RowOf(im)
	switch {
	case t.owner == "" && r.State == journal.Waiting:
		r.State = journal.Hibernated
	case t.owner != "" && r.State == journal.Runnable:
		r.State = journal.Running
	}
	if !im.Ended {
		t.misfit(&r)
	}
	r.Inbox = t.Inbox[im.ID]
	if !im.Ended {
		r.Lease = t.lease()
	}
	return r
}

// misfit tells of a thread that nobody has, and whose code did not fit, what happened. If the journal was not read that is told of the root.
func (t *TreeSeen) misfit(r *journal.DurableRow) {
	if t.owner != "" {
		return
	}
	for i := len(t.Misfits) - 1; i >= 0; i-- {
		m := &t.Misfits[i]
		if m.Thread != r.ID && !r.Unread {
			continue
		}
		times := "once"
		if m.Times > 1 {
			times = fmt.Sprintf("%d times", m.Times)
		}
		r.State, r.Since = journal.Diverged, m.At
		r.Err = fmt.Sprintf("%s (%s with code %s, which tries again from %s on; other code at once)", m.What, times, m.Code, m.Again().Local().Format("15:04:05"))
		return
	}
}

func (t *TreeSeen) lease() *journal.Lease {
	l := &journal.Lease{Holder: t.Owner, Taken: t.Leases, Silent: t.Silent}
	if n := len(t.Moves); n > 0 {
		l.Since = t.Moves[n-1].From
		if t.owner == "" {
			l.Since = t.Moves[n-1].To
		}
	}
	return l
}

// Rows are those of all threads of a tree. If its journal was not read there is one, of its root, with what its head tells.
func (t *TreeSeen) Rows() (rows []journal.DurableRow) {
	if t.Root != nil {
		t.Root.Walk(func(im *journal.Image) bool { rows = append(rows, t.Row(im)); return true })
		return rows
	}
	r := journal.DurableRow{ID: t.ID, Body: t.Body, State: journal.Runnable, Since: t.since(), Inbox: t.Inbox[t.ID], Unread: true}
	switch {
	case t.Ended && t.Err != "":
		r.State, r.Err = journal.Failed, t.Err
	case t.Ended:
		r.State = journal.Done
	case t.owner != "":
		r.State = journal.Running
	case t.Waits:
		r.State, r.Wait = journal.Hibernated, waitOf(t.For, t.Until)
	}
	if !t.Ended {
		t.misfit(&r)
		r.Lease = t.lease()
	}
	if t.Trouble != nil {
		r.Err = t.Trouble.Error()
	}
	return []journal.DurableRow{r}
}

// waitOf is the opposite of [journal.Step.String].
func waitOf(text string, until time.Time) *journal.Pending {
	kind, name, _ := strings.Cut(text, " ")
	w := &journal.Pending{Until: until}
	if w.Kind.UnmarshalText([]byte(kind)) != nil {
		w.Name = text
		return w
	}
	if unquoted, err := strconv.Unquote(name); err == nil {
		w.Name = unquoted
	}
	return w
}
