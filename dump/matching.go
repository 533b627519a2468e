package dump

import (
	"path"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A matching is a filter at work on the threads of one source.
type matching struct {
	matcher *filter.Matcher
	src     Source
	tree    *tree
	now     flight.Ticks
	names   func(flight.ThreadRow) string
	row     *flight.ThreadRow // the one that is looked at

	paths      map[int32]string
	blockers   map[flight.Blocker]string // names that users gave; nil: not read yet
	schedulers map[flight.SchedulerID]string
	labels     map[flight.ThreadID]*flight.LabelRow // of those that have any; nil: not read yet
	unlabelled error                                // why some are missing
	durable    durables                             // nil: not read yet
}

// newMatching returns nil if f matches every thread.
func newMatching(f *filter.Filter, src Source, t *tree, now flight.Ticks) *matching {
	if f.Empty() {
		return nil
	}
	m := &matching{src: src, tree: t, now: now, names: src.ThreadName, paths: map[int32]string{}}
	if r, ok := src.(interface{ Names() *flight.Names }); ok {
		m.names = r.Names().Of
	}
	m.matcher = f.Matcher(m)
	return m
}

// matches reports whether the filter matches a thread of a family that is shown at a stack.
func (m *matching) matches(family int32, r *flight.ThreadRow, key *groupKey) bool {
	m.row = r
	row := filter.RowOf(r)
	row.State, row.Reason, row.Scope, row.Stack = key.state, key.reason, int(family), int(key.stack)
	if key.stack == 0 {
		row.Stack = -1
	}
	if r.Since == 0 {
		row.Wait = filter.UnknownWait
	} else if r.Since.Before(m.now) {
		row.Wait = m.src.Between(r.Since, m.now)
	}
	return m.matcher.Match(&row)
}

// Scope returns the names of the scopes from the root on.
func (m *matching) Scope(key int) string {
	family := int32(key)
	p, ok := m.paths[family]
	if !ok {
		f := &m.tree.families[family]
		p = f.name
		if f.parent >= 0 {
			p = m.Scope(int(f.parent)) + "/" + p
		}
		m.paths[family] = p
	}
	return p
}

// Frames returns the functions and places of a stack.
func (m *matching) Frames(key int) (all []string) {
	s, err := m.src.Stack(flight.StackID(key))
	if err != nil {
		return nil
	}
	for _, f := range s.Frames {
		if f.Func != "" {
			all = append(all, f.Func)
		}
		if f.File != "" {
			all = append(all, path.Base(f.File)+":"+strconv.Itoa(f.Line))
		}
	}
	return all
}

// Name returns the name of the thread that is looked at.
func (m *matching) Name(*filter.Row) string { return m.names(*m.row) }

// Creator returns who made the thread that is looked at.
func (m *matching) Creator(*filter.Row) flight.ThreadID {
	r, ok := m.src.(interface {
		ThreadDetail(index uint32) (flight.ThreadDetail, error)
	})
	if !ok {
		return 0
	}
	if d, err := r.ThreadDetail(m.row.Index); err == nil && d.ID == m.row.ID {
		return d.Creator
	}
	return 0
}

// Durable returns which durable thread the thread is that is looked at.
func (m *matching) Durable(*filter.Row) *flight.DurableRow {
	if m.durable == nil {
		m.durable, _ = durablesOf(m.src) // what cannot be read is no durable thread
		if m.durable == nil {
			m.durable = durables{}
		}
	}
	return m.durable.of(m.row.ID)
}

// Scheduler returns a scheduler's name.
func (m *matching) Scheduler(id flight.SchedulerID) string {
	if m.schedulers == nil {
		m.schedulers = map[flight.SchedulerID]string{}
		if r, ok := m.src.(interface {
			Schedulers() ([]flight.SchedulerRow, error)
		}); ok {
			rows, _ := r.Schedulers() // what cannot be read has no name
			for i := range rows {
				m.schedulers[rows[i].ID] = rows[i].Name
			}
		}
	}
	return m.schedulers[id]
}

// Blocker returns what a group of who waits for it says: the kind, and its name or number.
func (m *matching) Blocker(b flight.Blocker) string {
	if m.blockers == nil {
		m.blockers = map[flight.Blocker]string{}
		rows, _ := m.src.Blockers() // what cannot be read has no name
		for i := range rows {
			if rows[i].Name != "" {
				m.blockers[rows[i].Blocker] = rows[i].Name
			}
		}
	}
	name, known := m.blockers[b]
	if n, ok := m.src.(interface{ BlockerName(flight.Blocker) string }); ok && !known {
		name = n.BlockerName(b)
		m.blockers[b] = name
	}
	if name != "" {
		return namedBlocker(b, name)
	}
	return b.String()
}

// namedBlocker writes what somebody waits for: `semaphore "db"`, or of a socket its descriptor and its addresses or path.
func namedBlocker(b flight.Blocker, name string) string {
	if b.Kind() == flight.BlockedBySocket {
		return kindName(b) + " " + idText(b) + " " + name
	}
	return kindName(b) + " " + strconv.Quote(name)
}

// The profiler labels of threads, as package sched has them.
const (
	labelThread = "vtscope.thread"
	labelScope  = "vtscope.scope"
)

// Label returns a label of the profiler. Threads of vtscope have two, their name and that of their scope, beside those of the program.
func (m *matching) Label(_ *filter.Row, key string) (string, bool) {
	switch key {
	case labelThread:
		if name := m.names(*m.row); name != "" {
			return name, true
		}
	case labelScope:
		p := m.Scope(int(max(m.tree.family(m.row.Scope), 0)))
		return p[strings.LastIndexByte(p, '/')+1:], true
	default:
		m.labelsOf(m.row.ID)
		if row := m.labels[m.row.ID]; row != nil {
			for _, l := range row.Labels {
				if l.Key == key {
					return l.Value, true
				}
			}
		}
	}
	return "", false
}
