package flight

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// A UserKind is a kind of events of a program's own, made by [Register]. Its methods may be called from any goroutine, thread or not; they never wait and
// never allocate.
type UserKind struct {
	info  UserKindInfo
	defs  []*userField
	at    []int // their first words
	words int

	gate  atomic.Uint32 // a gateState
	over  atomic.Uint64 // ticks
	every atomic.Uint32
	most  atomic.Uint32 // in a second
	depth atomic.Int32
	seen  atomic.Uint64 // counted only where every is more than 1
	limit struct {
		sync.Mutex
		limiter
	}
}

// A gateState tells what an event of a program's own has to ask before it is recorded.
const (
	gateUnknown uint32 = iota // the recorder may not have started
	gateOff
	gateAll
	gateSome
)

// A UserField is a field of a program's own events: a [Count], [Int], [Float], [Bool], [Duration], [Bytes] or [Text].
type UserField interface{ def() *userField }

type userField struct {
	name string
	use  FieldUse
}

func (f *userField) def() *userField { return f }

// The types of fields. Is gives an event's field its value; a field without one is 0.
type (
	Count    struct{ *userField } // a number of things
	Int      struct{ *userField }
	Float    struct{ *userField }
	Bool     struct{ *userField }
	Duration struct{ *userField }
	Bytes    struct{ *userField } // a size
	Text     struct{ *userField } // up to 48 bytes of UTF-8; longer ones are cut
)

// CountField returns a field that is a number of things.
func CountField(name string) Count { return Count{&userField{name, FieldCount}} }

// IntField returns a field that is a signed number.
func IntField(name string) Int { return Int{&userField{name, FieldInt}} }

// FloatField returns a field that is a floating-point number.
func FloatField(name string) Float { return Float{&userField{name, FieldFloat}} }

// BoolField returns a field that is true or false.
func BoolField(name string) Bool { return Bool{&userField{name, FieldBool}} }

// DurationField returns a field that is a duration, in nanoseconds.
func DurationField(name string) Duration { return Duration{&userField{name, FieldDuration}} }

// BytesField returns a field that is a size in bytes.
func BytesField(name string) Bytes { return Bytes{&userField{name, FieldBytes}} }

// TextField returns a field that is a short text.
func TextField(name string) Text { return Text{&userField{name, FieldText}} }

// A Value is what a field of an event is.
type Value struct {
	of   *userField
	word uint64
	text string
}

// Is returns the value v of the field.
func (f Count) Is(v uint64) Value { return Value{of: f.userField, word: v} }

// Is returns the value v of the field.
func (f Int) Is(v int64) Value { return Value{of: f.userField, word: uint64(v)} }

// Is returns the value v of the field.
func (f Float) Is(v float64) Value { return Value{of: f.userField, word: math.Float64bits(v)} }

// Is returns the value v of the field.
func (f Bool) Is(v bool) Value {
	if v {
		return Value{of: f.userField, word: 1}
	}
	return Value{of: f.userField}
}

// Is returns the value v of the field; one below 0 counts as 0.
func (f Duration) Is(v time.Duration) Value { return Value{of: f.userField, word: uint64(max(v, 0))} }

// Is returns the value v of the field.
func (f Bytes) Is(v uint64) Value { return Value{of: f.userField, word: v} }

// Is returns the value v of the field.
func (f Text) Is(v string) Value { return Value{of: f.userField, text: v} }

// A UserKindInfo describes a kind of events of a program's own.
type UserKindInfo struct {
	Number  uint32 // what the field of use [FieldUserKind] of its events has; from 1 on
	Name    string
	Fields  []Field // in the words after the event's own
	Setting Setting
}

// Info describes the kind, with the settings of the process's recorder.
func (k *UserKind) Info() UserKindInfo {
	userKinds.mu.Lock()
	defer userKinds.mu.Unlock()
	return k.info
}

const (
	maxUserKinds = 1024
	maxUserName  = 128
	maxUserWords = maxMoreSlots * wordsPerSlot
)

// userKinds are the kinds that the program has registered.
var userKinds struct {
	mu       sync.Mutex
	all      []*UserKind              // guarded by mu
	recorder atomic.Pointer[Recorder] // the process's; stored under mu
}

// Register makes a kind of events of the program's own, as a rule in a package's variables:
//
//	var (
//		items    = flight.CountField("items")
//		checkout = flight.Register("cart.Checkout", items)
//	)
//
// Events of it are recorded, shown and exported like those of the runtime. The name has a dot in it. Registering the same again returns the same kind. Register panics if the name or
// a field's is bad, if a kind of that name has other fields, or if there are more than 16 fields, 24 words of them (a text has 6), or 1,024 kinds.
func Register(name string, fields ...UserField) *UserKind {
	k := &UserKind{info: UserKindInfo{Name: name}}
	if err := k.define(fields); err != nil {
		panic("flight: register " + name + ": " + err.Error())
	}
	u := &userKinds
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, old := range u.all {
		if old.info.Name == name {
			if !old.sameFields(k) {
				panic("flight: register " + name + ": it is registered with other fields")
			}
			old.alias(fields)
			return old
		}
	}
	if len(u.all) == maxUserKinds {
		panic(fmt.Sprintf("flight: register %s: more than %d kinds", name, maxUserKinds))
	}
	u.all = append(u.all, k)
	k.info.Number = uint32(len(u.all))
	if r := u.recorder.Load(); r != nil {
		k.applyLocked(r)
	}
	return k
}

func (k *UserKind) define(fields []UserField) error {
	if err := checkUserName(k.info.Name); err != nil {
		return err
	}
	if len(fields) > maxUserFields {
		return fmt.Errorf("%d fields: want at most %d", len(fields), maxUserFields)
	}
	for _, f := range fields {
		d := f.def()
		if d == nil || d.name == "" || len(d.name) > MaxText || strings.ContainsFunc(d.name, func(r rune) bool { return r < '!' || r == '"' }) {
			return fmt.Errorf("bad name of a field: %+v", d)
		}
		for _, other := range k.defs {
			if other.name == d.name {
				return fmt.Errorf("two fields %q", d.name)
			}
		}
		k.defs = append(k.defs, d)
		k.at = append(k.at, k.words)
		k.info.Fields = append(k.info.Fields, Field{d.name, AtMore + Place(k.words), d.use})
		k.words += d.use.Words()
	}
	if k.words > maxUserWords {
		return fmt.Errorf("fields of %d words: want at most %d", k.words, maxUserWords)
	}
	return nil
}

// checkUserName wants a name that cannot be one of ours, and is a word on a command line.
func checkUserName(name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/", r))
	})
	if bad || !strings.Contains(name, ".") || len(name) > maxUserName {
		return fmt.Errorf("bad name %q: want letters, digits, _, -, / and at least one dot, such as cart.Checkout", name)
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; isSettingProperty(last) {
		return fmt.Errorf("bad name %q: in settings, .%s would be something else", name, last)
	}
	return nil
}

func (k *UserKind) sameFields(o *UserKind) bool {
	if len(k.defs) != len(o.defs) {
		return false
	}
	for i, d := range k.defs {
		if *d != *o.defs[i] {
			return false
		}
	}
	return true
}

// alias makes the fields of a second registration those of the first.
func (k *UserKind) alias(fields []UserField) {
	for i, f := range fields {
		*f.def() = *k.defs[i] // values find their field by its name then: see put
	}
}

// Mark records that an event happened. The time, the thread and the carrier are known; values give the fields, in any order. One that is of no field of the kind
// is left out.
func (k *UserKind) Mark(values ...Value) {
	if k.takes() {
		k.emit(EventMark, Now(), 0, values)
	}
}

// Begin begins a span, which its End ends. The event of the beginning is recorded unless the settings have a threshold: a span that is under way when the process
// dies is seen by it.
func (k *UserKind) Begin(values ...Value) Span {
	if !k.takes() {
		return Span{}
	}
	s := Span{k, Now()}
	if k.over.Load() == 0 {
		k.emit(EventSpanBegin, s.from, 0, values)
	}
	return s
}

// A Span is something that takes time. The zero value is one that is not recorded.
type Span struct {
	kind *UserKind
	from Ticks
}

// End ends the span: the event has its duration. It may be called on another goroutine or thread than [UserKind.Begin].
func (s Span) End(values ...Value) {
	if s.kind == nil {
		return
	}
	now := Now()
	if d := now - s.from; uint64(d) >= s.kind.over.Load() {
		s.kind.emit(EventSpanEnd, now, uint64(d.Sub(0)), values)
	}
}

// takes reports whether an event is recorded.
func (k *UserKind) takes() bool {
	switch k.gate.Load() {
	case gateAll:
		return true
	case gateOff:
		return false
	case gateUnknown:
		if Default() == nil {
			k.gate.CompareAndSwap(gateUnknown, gateOff)
			return false
		}
		if k.gate.Load() == gateAll {
			return true
		}
	}
	return k.chosen()
}

func (k *UserKind) chosen() bool {
	if k.gate.Load() != gateSome || k.seen.Add(1)%uint64(k.every.Load()) != 0 {
		return false
	}
	most := k.most.Load()
	if most == 0 {
		return true
	}
	k.limit.Lock()
	defer k.limit.Unlock()
	if now := Now(); now-k.limit.from >= Ticks(durationToTicks(time.Second)) {
		k.limit.from, k.limit.n = now, 0
	}
	k.limit.n++
	return k.limit.n <= most
}

func (k *UserKind) emit(kind Kind, t Ticks, arg uint64, values []Value) {
	if k.words <= fewWords {
		var words [fewWords]uint64 // to clear them all would cost as much as to write them
		k.write(kind, t, arg, values, words[:k.words])
		return
	}
	var words [maxUserWords]uint64
	k.write(kind, t, arg, values, words[:k.words])
}

const fewWords = 2 * wordsPerSlot

// write fills the words, which are 0, and records the event.
func (k *UserKind) write(kind Kind, t Ticks, arg uint64, values []Value, words []uint64) {
	for i := range values {
		v := &values[i]
		n := i // as a rule they stand in order
		if n >= len(k.defs) || k.defs[n] != v.of {
			if n = k.find(v.of); n < 0 {
				continue
			}
		}
		at := k.at[n]
		if v.of.use == FieldText {
			putText(words[at:at+TextWords], v.text)
		} else {
			words[at] = v.word
		}
	}
	r := userKinds.recorder.Load()
	if kind != EventSpanEnd && k.depth.Load() > 0 {
		arg = uint64(r.Stack(3))
	}
	g, thread := here()
	code, ref := Reason((k.words+wordsPerSlot-1)/wordsPerSlot), StackID(k.info.Number)
	if g != nil {
		g.emitMore(g.carrier, t, kind, code, ref, thread, arg, words)
		return
	}
	if s := r.lockStripe(Anywhere, kind); s != nil {
		s.ring.emitMore(uint64(NoCarrier)<<16, t, kind, code, ref, thread, arg, words)
		s.lock.Store(0)
	}
}

// find returns the place of a field among the kind's, or -1.
func (k *UserKind) find(f *userField) int {
	i := slices.Index(k.defs, f)
	if i < 0 && f != nil { // of a second registration
		i = slices.IndexFunc(k.defs, func(d *userField) bool { return *d == *f })
	}
	return i
}

// putText stores s in words, cut if it is too long.
func putText(words []uint64, s string) {
	var b [MaxText]byte
	if len(s) > MaxText {
		const cut = "…"
		n := copy(b[:], cutText(s, MaxText-len(cut)))
		copy(b[n:], cut)
	} else {
		copy(b[:], s)
	}
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
}

// here returns the ring of the carrier and the thread that execute the caller; nil and 0 for a goroutine.
var here = func() (*Ring, ThreadID) { return nil, 0 }

// OnThread tells the package how to find the ring of the carrier and the thread that execute the caller. The runtime calls it once, in an init function.
func OnThread(f func() (*Ring, ThreadID)) { here = f }

// adoptUserKinds makes r the recorder of the program's own events.
func adoptUserKinds(r *Recorder) {
	userKinds.mu.Lock()
	defer userKinds.mu.Unlock()
	userKinds.recorder.Store(r)
	for _, k := range userKinds.all {
		if r == nil {
			k.gate.Store(gateOff)
		} else {
			k.applyLocked(r)
		}
	}
}

// userSettingsChanged is called when the settings of a recorder were changed.
func userSettingsChanged(r *Recorder) {
	userKinds.mu.Lock()
	defer userKinds.mu.Unlock()
	if userKinds.recorder.Load() == r {
		for _, k := range userKinds.all {
			k.applyLocked(r)
		}
	}
}

// applyLocked makes the kind as the settings of r say, and tells it in the file.
func (k *UserKind) applyLocked(r *Recorder) {
	s := r.Settings()
	set := s.Of(k.info.Name)
	k.info.Setting = set
	k.over.Store(uint64(durationToTicks(set.Threshold)))
	k.every.Store(max(set.Every, 1))
	k.most.Store(set.PerSecond)
	k.depth.Store(int32(set.depth()))
	switch {
	case !set.On:
		k.gate.Store(gateOff)
	case set.Every > 1 || set.PerSecond > 0:
		k.gate.Store(gateSome)
	default:
		k.gate.Store(gateAll)
	}
	r.writeUserKind(k)
}

// A userKindPool holds the records of the program's own kinds; guarded by userKinds.mu.
type userKindPool struct{ segments []unsafe.Pointer }

func (r *Recorder) writeUserKind(k *UserKind) {
	i := int(k.info.Number - 1)
	p := &r.userKinds
	for i/userKindsPerSegment >= len(p.segments) {
		base, err := r.addSegment(segmentUserKind, userKindSegmentSize, userKindSize, userKindsPerSegment, nil)
		if err != nil {
			r.warnOnce("events of the program's own have no names", err)
			return
		}
		p.segments = append(p.segments, base)
	}
	rec := (*userKindRecord)(unsafe.Add(p.segments[i/userKindsPerSegment], i%userKindsPerSegment*userKindSize))
	name := r.Intern(k.info.Name)
	var fields [maxUserFields]userFieldRecord
	for j, f := range k.info.Fields {
		fields[j] = userFieldRecord{Name: uint32(r.Intern(f.Name)), At: uint16(f.At - AtMore), Use: uint16(f.Use)}
	}
	v := beginWrite(&rec.Ver)
	put32(&rec.Name, uint32(name))
	put32(&rec.Fields, uint32(len(k.info.Fields)))
	k.info.Setting.write(&rec.Setting)
	rec.Field = fields
	endWrite(&rec.Ver, v)
}

// TextOf returns the words of a field of use [FieldText], cut as those are.
func TextOf(s string) (words [TextWords]uint64) {
	putText(words[:], s)
	return words
}
