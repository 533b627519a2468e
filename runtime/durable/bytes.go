package durable

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/vtscope/vtscope/runtime/sched"
)

// The bytes of a thread: a header of 16 bytes, that is magic, version (one byte), how it is protected (one byte), and the length of what follows (big endian); then
// an image as JSON, and its SHA-256; or the image sealed by [Keys].
const (
	magic      = "vtdurabl"
	version    = 1
	headerSize = len(magic) + 2 + 4 + 2

	summed = 0
	sealed = 1

	maxBytes    = 256 << 20 // of a thread with its children
	maxChildren = 64        // generations
)

// Errors about bytes.
var (
	ErrDamaged  = errors.New("the bytes are damaged")
	ErrVersion  = errors.New("the bytes are of another version")
	ErrKey      = errors.New("the bytes are encrypted with another key, or no key was given")
	ErrUnsigned = errors.New("the bytes are not signed, and a key was given")
	ErrTooLarge = errors.New("the bytes are too large")
	ErrChild    = errors.New("a child goes with its parent")
)

// An image is what the bytes hold of a thread.
type image struct {
	ID       string                       `json:"id"`
	Body     string                       `json:"body"`
	Args     json.RawMessage              `json:"args"`
	Steps    []Step                       `json:"steps"`
	Since    int                          `json:"since,omitempty"`
	Forks    int                          `json:"forks,omitempty"`
	Inbox    map[string][]json.RawMessage `json:"inbox,omitempty"`
	Permit   bool                         `json:"permit,omitempty"`
	Number   int                          `json:"number,omitempty"` // of a child
	Children []image                      `json:"children,omitempty"`

	// Of a child that has ended and was not joined yet.
	Ended  bool            `json:"ended,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Err    string          `json:"error,omitempty"`
}

// ParkAndSerialize waits until the thread and its children stand at a step or wait in one, ends them here, and returns what it takes to let them go on elsewhere. A call
// that is under way comes to its end before. Deferred functions of the bodies are executed, and what they ask of this package for ends them. Who joins the thread here
// gets [ErrMoved]. The error matches [ErrDone], [ErrMoved], [ErrChild], or, on the thread itself, [ErrItself]: see [Move].
func (t *Thread) ParkAndSerialize() ([]byte, error) {
	switch {
	case t.onIt():
		return nil, ErrItself
	case t.parent != nil:
		return nil, ErrChild
	}
	if err := t.halt(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	im := t.imageLocked()
	t.mu.Unlock()
	b, err := pack(&im, t.builder.Keys)
	if err != nil {
		return nil, err
	}
	return b, t.sent()
}

// sent tells the keeper, if there is one, that the thread is elsewhere.
func (t *Thread) sent() error {
	t.mu.Lock()
	t.mu.sent = true
	t.mu.Unlock()
	k := t.builder.keeper
	if k == nil {
		return nil
	}
	k.mu.Lock()
	delete(k.mu.threads, t.id)
	k.mu.Unlock()
	return t.tell(t.drops()...)
}

// halt makes a thread and its children leave for good, and waits until they have.
func (t *Thread) halt() error {
	t.mu.Lock()
	if err := t.overLocked(); err != nil {
		t.mu.Unlock()
		return err
	}
	t.mu.leave = toBytes
	left := t.mu.left
	if t.mu.state == Hibernated {
		if t.mu.timer != nil {
			t.mu.timer.Stop()
		}
		t.mu.state = Moved
		t.hideLocked()
		t.ended.Complete(struct{}{})
	} else {
		t.pokeLocked()
	}
	t.mu.Unlock()
	if left != nil {
		if _, err := left.Future.Get(); err != nil { // the caller was interrupted: the thread leaves all the same
			return err
		}
	}
	t.mu.Lock()
	done := t.mu.state == Done
	t.mu.Unlock()
	if done {
		return ErrDone
	}
	return t.haltChildren()
}

func (t *Thread) haltChildren() error {
	t.mu.Lock()
	var all []*Thread
	for _, c := range t.mu.children {
		all = append(all, c)
	}
	t.mu.Unlock()
	for _, c := range all {
		if err := c.halt(); err != nil && err != ErrDone {
			return fmt.Errorf("durable: child %s: %w", c.id, err)
		}
	}
	return nil
}

// imageLocked describes a thread that does not run, with its children.
func (t *Thread) imageLocked() image {
	im := image{
		ID: t.id, Body: t.body.name, Args: t.args, Steps: append([]Step{}, t.mu.journal.steps...), Since: t.mu.journal.since,
		Forks: t.mu.forks, Permit: t.mu.permit,
	}
	for name, all := range t.mu.inbox {
		if len(all) > 0 {
			if im.Inbox == nil {
				im.Inbox = map[string][]json.RawMessage{}
			}
			im.Inbox[name] = append([]json.RawMessage(nil), all...)
		}
	}
	if t.mu.state == Done {
		im.Ended, im.Result = true, t.mu.result
		if t.mu.err != nil {
			im.Err = t.mu.err.Error()
		}
	}
	for number := 1; number <= t.mu.forks; number++ {
		c := t.mu.children[number]
		if c == nil {
			continue
		}
		c.mu.Lock()
		child := c.imageLocked()
		c.mu.Unlock()
		child.Number = number
		im.Children = append(im.Children, child)
	}
	return im
}

func pack(im *image, keys *Keys) ([]byte, error) {
	text, err := json.Marshal(im)
	if err != nil {
		return nil, fmt.Errorf("durable: thread %s: %w", im.ID, err)
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("durable: thread %s: %d bytes: %w, at most %d; try Checkpoint", im.ID, len(text), ErrTooLarge, maxBytes)
	}
	header := make([]byte, headerSize)
	copy(header, magic)
	header[len(magic)] = version
	binary.BigEndian.PutUint32(header[len(magic)+2:], uint32(len(text)))
	if keys != nil {
		header[len(magic)+1] = sealed
		return keys.sealed(header, text), nil
	}
	sum := sha256.Sum256(text)
	return append(append(header, text...), sum[:]...), nil
}

// unpack is the opposite of pack, for bytes from anywhere.
func unpack(b []byte, keys *Keys) (*image, error) {
	if len(b) < headerSize || string(b[:len(magic)]) != magic {
		return nil, ErrDamaged
	}
	header, rest := b[:headerSize], b[headerSize:]
	if header[len(magic)] != version {
		return nil, fmt.Errorf("%w: %d, not %d", ErrVersion, header[len(magic)], version)
	}
	n := int(binary.BigEndian.Uint32(header[len(magic)+2:]))
	if n > maxBytes || len(rest) > maxBytes+1<<10 {
		return nil, ErrTooLarge
	}
	var text []byte
	switch protection := header[len(magic)+1]; {
	case protection == sealed && keys == nil:
		return nil, ErrKey
	case protection == sealed:
		var err error
		if text, err = keys.opened(header, rest); err != nil {
			return nil, err
		}
	case protection != summed:
		return nil, ErrDamaged
	case keys != nil:
		return nil, ErrUnsigned
	default:
		if len(rest) != n+sha256.Size {
			return nil, ErrDamaged
		}
		text = rest[:n]
		if sum := sha256.Sum256(text); !bytes.Equal(sum[:], rest[n:]) {
			return nil, ErrDamaged
		}
	}
	if len(text) != n || header[headerSize-1] != 0 || header[headerSize-2] != 0 {
		return nil, ErrDamaged
	}
	im := new(image)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(im); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, ErrDamaged
	}
	if err := im.check(maxChildren); err != nil {
		return nil, err
	}
	return im, nil
}

// check reports whether an image can be one of a thread.
func (im *image) check(generations int) error {
	bad := func(what string) error { return fmt.Errorf("%w: thread %.40q: %s", ErrDamaged, im.ID, what) }
	switch {
	case im.ID == "" || len(im.ID) > maxID || im.Body == "" || len(im.Body) > maxName:
		return bad("its id or body")
	case im.Since < 0 || im.Forks < len(im.Children):
		return bad("its numbers")
	case generations == 0:
		return bad("its generations")
	}
	for i := range im.Steps {
		s := &im.Steps[i]
		switch {
		case s.Kind == StepNone || s.Open && i < len(im.Steps)-1 || len(s.Name) > maxName || s.Attempts < 0 || s.Took < 0:
			return bad(fmt.Sprintf("step %d", i))
		case s.Kind == StepCheckpoint && i > 0:
			return bad(fmt.Sprintf("a checkpoint at step %d", i))
		}
	}
	last := 0
	for i := range im.Children {
		c := &im.Children[i]
		if c.Number <= last || c.Number > im.Forks {
			return bad("the numbers of its children")
		}
		last = c.Number
		if err := c.check(generations - 1); err != nil {
			return err
		}
	}
	return nil
}

// DeserializeAndUnpark lets a thread go on that [Thread.ParkAndSerialize] has parked, here or elsewhere; nil means the default scheduler. If it was in a [Park], that returns.
// Who does this twice with the same bytes has two threads of one id. The error matches [ErrDamaged], [ErrVersion], [ErrTooLarge], [ErrUnknownBody], or is the scheduler's.
func DeserializeAndUnpark(b []byte, r *Registry, s sched.Scheduler) (*Thread, error) {
	return Builder{Registry: r, Scheduler: s}.DeserializeAndUnpark(b)
}

// DeserializeAndUnpark is the function of that name, with the builder's options. The error matches [ErrKey] or [ErrUnsigned] as well.
func (b Builder) DeserializeAndUnpark(from []byte) (*Thread, error) {
	im, err := unpack(from, b.Keys)
	if err != nil {
		return nil, fmt.Errorf("durable: deserialize: %w", err)
	}
	b.ID = ""
	t, err := b.restore(im, nil)
	if err != nil {
		return nil, err
	}
	if n := len(im.Steps); n > 0 && im.Steps[n-1].Open && im.Steps[n-1].Kind == StepPark {
		t.mu.permit = true
	}
	return t, t.beginAll()
}

// restore makes a thread with its children, which do not run yet.
func (b Builder) restore(im *image, parent *Thread) (*Thread, error) {
	b.ID = im.ID
	t, err := b.make(im.Body, im.Args)
	if err != nil {
		return nil, err
	}
	t.parent, t.number = parent, im.Number
	t.mu.journal = Journal{steps: im.Steps, since: im.Since}
	t.mu.forks, t.mu.permit = im.Forks, im.Permit
	if im.Inbox != nil {
		t.mu.inbox = im.Inbox
	}
	for i := range im.Children {
		c, err := b.restore(&im.Children[i], t)
		if err != nil {
			return nil, err
		}
		t.mu.children[im.Children[i].Number] = c
	}
	if im.Ended {
		t.mu.state, t.mu.result = Done, im.Result
		if im.Err != "" {
			t.mu.err = &Failure{im.Err}
		}
		t.ended.Complete(struct{}{})
	}
	return t, nil
}

// beginAll starts a restored thread and its children.
func (t *Thread) beginAll() error {
	for number := 1; number <= t.mu.forks; number++ {
		if c := t.mu.children[number]; c != nil {
			if err := c.beginAll(); err != nil {
				return err
			}
		}
	}
	if t.ended.Done() {
		return nil
	}
	return t.begin()
}

// Move sends the thread, with its children, to where it goes on: send is given the bytes, and returns when they have arrived. There Move returns nil, and here the
// thread is gone. If send fails, Move returns a [*Failure] here, and there nothing must go on: send decides who has the thread. Children come to a step of theirs before.
func Move(t *Thread, name string, send func(b []byte) error) error {
	s, _ := t.next(StepMove, name)
	if s == nil {
		if err := t.haltChildren(); err != nil {
			return err
		}
		t.append(Step{Kind: StepMove, Name: name}, false)
		t.mu.Lock()
		im := t.imageLocked()
		t.mu.Unlock()
		b, err := pack(&im, t.builder.Keys)
		if err == nil {
			err = send(b)
		}
		if err == nil {
			_ = t.sent() // if that fails it is there and here, and its store is lost
			t.mu.Lock()
			t.mu.leave = toBytes
			t.mu.Unlock()
			t.exit()
		}
		t.mu.Lock()
		last := &t.mu.journal.steps[len(t.mu.journal.steps)-1]
		last.Err = cmp.Or(err.Error(), "error without a text")
		failed := *last
		s = &failed
		children := t.mu.children
		t.mu.children = map[int]*Thread{}
		t.lastLocked(false, Entry{Thread: t.id, Op: OpSet, Step: &failed})
		for number, c := range children { // those that went on elsewhere in our image go on here
			again, err := c.anew()
			if err != nil {
				return err
			}
			t.mu.Lock()
			t.mu.children[number] = again
			t.mu.Unlock()
		}
	}
	if s.Err != "" {
		return &Failure{s.Err}
	}
	return nil
}

// anew returns a thread that goes on where t has been stopped.
func (t *Thread) anew() (*Thread, error) {
	t.mu.Lock()
	im := t.imageLocked()
	t.mu.Unlock()
	again, err := t.builder.restore(&im, t.parent)
	if err != nil {
		return nil, err
	}
	return again, again.beginAll()
}
