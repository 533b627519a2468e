package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unsafe"
)

// Limits say how much the bytes of a thread may ask of those who read them; and each record of a file, and each message of a stream. A field that is zero means its default.
type Limits struct {
	Bytes  int // of the text, with all children. Default: 256 MiB. At most 4 GiB - 1
	Memory int // that steps, signals and children take, with the text. Default: 1 GiB, which is more than threads whose text is within its default take, but for hundreds of thousands of children
}

const (
	maxBytes  = 256 << 20
	maxMemory = 1 << 30
)

// What things take in memory beside their text.
const (
	stepSize   = int(unsafe.Sizeof(Step{}))
	signalSize = int(unsafe.Sizeof(json.RawMessage{})) + 8 // with the least that is allocated for it
	nameSize   = 128                                       // of the signals of one name
	childSize  = 2 << 10                                   // a thread that hibernates
	entrySize  = int(unsafe.Sizeof(Entry{}))
)

func (l Limits) checked() (Limits, error) {
	if l.Bytes < 0 || uint64(l.Bytes) > math.MaxUint32 || l.Memory < 0 {
		return l, fmt.Errorf("journal: limits of %d bytes and %d of memory", l.Bytes, l.Memory)
	}
	if l.Bytes == 0 {
		l.Bytes = maxBytes
	}
	if l.Memory == 0 {
		l.Memory = maxMemory
	}
	return l, nil
}

// A budget is what may be allocated yet. It is asked before.
type budget struct {
	limit, used int
	id          string // of the thread that is read
}

// take takes n things of a size. The error matches [ErrMemory].
func (b *budget) take(n, size int, what string) error {
	if n <= (b.limit-b.used)/size {
		b.used += n * size
		return nil
	}
	return fmt.Errorf("thread %.40q: %w: with %d %s %d bytes, at most %d; try Checkpoint, or larger Limits", b.id, ErrMemory, n, what, uint64(b.used)+uint64(n)*uint64(size), b.limit)
}

// measure takes what an image takes whose text has that length.
func (b *budget) measure(im *Image) error {
	b.id = im.ID
	err := b.take(len(im.Steps), stepSize, "steps")
	for _, all := range im.Inbox {
		if err == nil {
			err = b.take(1, nameSize, "name of signals")
		}
		if err == nil {
			err = b.take(len(all), signalSize, "signals")
		}
	}
	if err == nil {
		err = b.take(len(im.Children), childSize, "children")
	}
	for i := range im.Children {
		if err == nil {
			err = b.measure(&im.Children[i])
		}
	}
	return err
}

// A decoder makes an image of text from anywhere.
//
//	D1  What is allocated is taken from the budget before. The text itself is in it: names and values are parts of it.
//	D2  Lists of steps and of signals are counted in the text, and allocated once: what is dropped by a list that grows is none of the budget.
type decoder struct {
	*json.Decoder
	text    []byte
	budget  budget
	lenient bool // names that are not known are passed over: entries have no version
}

// decode returns the image that text is. The error matches [ErrDamaged] or [ErrMemory].
func decode(text []byte, memory int) (*Image, error) {
	d := &decoder{Decoder: json.NewDecoder(bytes.NewReader(text)), text: text, budget: budget{limit: memory}}
	d.DisallowUnknownFields()
	im := new(Image)
	return im, d.all(func() error { return d.image(im, MaxGenerations) })
}

// all takes all of the text. The error matches [ErrDamaged] or [ErrMemory].
func (d *decoder) all(take func() error) error {
	err := d.budget.take(len(d.text), 1, "bytes of text")
	if err == nil {
		err = take()
	}
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = errors.New("something follows")
		}
	}
	if err != nil && !errors.Is(err, ErrMemory) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// unknown takes the value of a name that is not known.
func (d *decoder) unknown(name string) error {
	if !d.lenient {
		return fmt.Errorf("unknown name %.40q", name)
	}
	var passed json.RawMessage
	return d.Decode(&passed)
}

// image takes an image.
func (d *decoder) image(im *Image, generations int) error {
	if generations == 0 {
		return errors.New("too many generations")
	}
	if err := d.opens('{'); err != nil {
		return err
	}
	return d.imageMembers(im, generations)
}

// imageMembers takes an image that was opened.
func (d *decoder) imageMembers(im *Image, generations int) error {
	return d.once(func(name string) error {
		switch name {
		case "id":
			err := d.Decode(&im.ID)
			d.budget.id = im.ID
			return err
		case "body":
			return d.Decode(&im.Body)
		case "args":
			return d.Decode(&im.Args)
		case "steps":
			return elements(d, &im.Steps, stepSize, "steps")
		case "since":
			return d.Decode(&im.Since)
		case "forks":
			return d.Decode(&im.Forks)
		case "inbox":
			return d.inbox(im)
		case "permit":
			return d.Decode(&im.Permit)
		case "number":
			return d.Decode(&im.Number)
		case "begun":
			return d.Decode(&im.Begun)
		case "children":
			return d.children(im, generations)
		case "ended":
			return d.Decode(&im.Ended)
		case "ended_at":
			return d.Decode(&im.EndedAt)
		case "result":
			return d.Decode(&im.Result)
		case "error":
			return d.Decode(&im.Err)
		}
		return d.unknown(name)
	})
}

func (d *decoder) inbox(im *Image) error {
	if some, err := d.opensOrNull('{'); !some {
		return err
	}
	im.Inbox = map[string][]json.RawMessage{}
	return d.members(func(name string) error {
		if _, twice := im.Inbox[name]; twice {
			return fmt.Errorf("signals %.40q twice", name)
		}
		if err := d.budget.take(1, nameSize, "name of signals"); err != nil {
			return err
		}
		var all []json.RawMessage
		err := elements(d, &all, signalSize, "signals")
		im.Inbox[name] = all
		return err
	})
}

func (d *decoder) children(im *Image, generations int) error {
	if some, err := d.opensOrNull('['); !some {
		return err
	}
	for d.More() {
		if err := d.budget.take(1, childSize, "child more"); err != nil {
			return err
		}
		im.Children = append(im.Children, Image{})
		if err := d.image(&im.Children[len(im.Children)-1], generations-1); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// opens takes the beginning of an object or a list.
func (d *decoder) opens(want json.Delim) error {
	switch got, err := d.Token(); {
	case err != nil:
		return err
	case got != want:
		return fmt.Errorf("%.40v where %v has to be", got, want)
	}
	return nil
}

// opensOrNull is opens, and returns false if there is none.
func (d *decoder) opensOrNull(want json.Delim) (bool, error) {
	switch got, err := d.Token(); {
	case err != nil:
		return false, err
	case got == nil:
		return false, nil
	case got != want:
		return false, fmt.Errorf("%.40v where %v has to be", got, want)
	}
	return true, nil
}

// once is members, and refuses a name that comes twice.
func (d *decoder) once(f func(name string) error) error {
	taken := make([]string, 0, 16)
	return d.members(func(name string) error {
		if slices.Contains(taken, name) {
			return fmt.Errorf("%.40q twice", name)
		}
		if len(taken) < cap(taken) { // all that are known
			taken = append(taken, name)
		}
		return f(name)
	})
}

// members takes the rest of an object: f takes the value of each name.
func (d *decoder) members(f func(name string) error) error {
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if err := f(name.(string)); err != nil { // Token says when a name is none
			return err
		}
	}
	_, err := d.Token()
	return err
}

// elements takes a list, or null.
func elements[T any](d *decoder, to *[]T, size int, what string) error {
	switch got, err := d.Token(); {
	case err != nil:
		return err
	case got == nil:
		return nil
	case got != json.Delim('['):
		return fmt.Errorf("%s that are no list", what)
	}
	n := count(d.text[d.InputOffset():])
	if err := d.budget.take(n, size, what); err != nil {
		return err
	}
	all := make([]T, 0, n)
	for d.More() {
		if len(all) == n {
			return fmt.Errorf("%s that cannot be counted", what)
		}
		all = all[:len(all)+1]
		if err := d.Decode(&all[len(all)-1]); err != nil {
			return err
		}
	}
	*to = all
	_, err := d.Token()
	return err
}

// count returns how many elements a list has whose text, behind its bracket, text begins with. Of what is no list it says anything up to the length of text.
func count(text []byte) (n int) {
	depth, some := 0, false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				if some {
					n++
				}
				return n
			}
			depth--
		case ',':
			if depth == 0 {
				n++
			}
		}
		some = true
	}
	return n
}

func entriesDecoder(text []byte, l Limits) *decoder {
	return &decoder{Decoder: json.NewDecoder(bytes.NewReader(text)), text: text, budget: budget{limit: l.Memory}, lenient: true}
}

// entries takes a list of entries.
func (d *decoder) entries(to *[]Entry) error {
	if some, err := d.opensOrNull('['); !some {
		return err
	}
	n := count(d.text[d.InputOffset():])
	if err := d.budget.take(n, entrySize, "entries"); err != nil {
		return err
	}
	all := make([]Entry, 0, n)
	for d.More() {
		if len(all) == n {
			return errors.New("entries that cannot be counted")
		}
		all = all[:len(all)+1]
		if err := d.entry(&all[len(all)-1]); err != nil {
			return err
		}
	}
	*to = all
	_, err := d.Token()
	return err
}

// entry takes an entry.
func (d *decoder) entry(e *Entry) error {
	if err := d.opens('{'); err != nil {
		return err
	}
	return d.once(func(name string) error {
		switch name {
		case "thread":
			err := d.Decode(&e.Thread)
			d.budget.id = e.Thread
			return err
		case "op":
			err := d.Decode(&e.Op)
			if err == nil && e.Op == OpNew {
				err = d.budget.take(1, childSize, "thread")
			}
			return err
		case "at":
			return d.Decode(&e.At)
		case "parent":
			return d.Decode(&e.Parent)
		case "number":
			return d.Decode(&e.Number)
		case "body":
			return d.Decode(&e.Body)
		case "args":
			return d.Decode(&e.Args)
		case "step":
			if err := d.budget.take(1, stepSize, "step"); err != nil {
				return err
			}
			return d.Decode(&e.Step)
		case "since":
			return d.Decode(&e.Since)
		case "name":
			return d.Decode(&e.Name)
		case "value":
			return d.Decode(&e.Value)
		case "error":
			return d.Decode(&e.Err)
		case "image":
			return d.entryImage(e)
		case "inbox":
			return d.Decode(&e.Inbox)
		}
		return d.unknown(name)
	})
}

// entryImage takes the image of an entry, or null.
func (d *decoder) entryImage(e *Entry) error {
	if err := d.budget.take(1, childSize, "thread"); err != nil {
		return err
	}
	if some, err := d.opensOrNull('{'); !some {
		return err
	}
	e.Image = new(Image)
	return d.imageMembers(e.Image, MaxGenerations)
}
