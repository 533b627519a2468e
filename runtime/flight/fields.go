package flight

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
)

// A Field is what one word of an event, or some of its bits, mean.
type Field struct {
	Name string // a lower-case word, or several joined by "-"; a user's field as the user says
	At   Place
	Use  FieldUse
}

// A Place is where in an event a field is.
type Place uint8

// The places. AtMore + i is word i of the slots that follow the event's own, three words in each.
const (
	AtCode    Place = iota // [Event.Code]
	AtRef                  // the 32 bits of [Event.Stack]
	AtArg                  // [Event.Arg]
	AtArgLow               // its low 48 bits
	AtArgHigh              // its high 16 bits
	AtMore
)

const (
	wordsPerSlot = 3
	// TextWords is how many words a field of use [FieldText] takes.
	TextWords = 6
	// MaxText is the most bytes that such a field holds; longer texts are cut, and end in "…".
	MaxText = 8 * TextWords
)

// Word returns the field of an event that is made of these parts; 0 if more has not so many words. Of a text it is the first word.
func (f Field) Word(code Reason, ref uint32, arg uint64, more []uint64) uint64 {
	switch f.At {
	case AtCode:
		return uint64(code)
	case AtRef:
		return uint64(ref)
	case AtArg:
		return arg
	case AtArgLow:
		return arg & maxHeld
	case AtArgHigh:
		return arg >> heldBits
	}
	if i := int(f.At - AtMore); i < len(more) {
		return more[i]
	}
	return 0
}

// Text returns the text of a field of use [FieldText], safe to print.
func (f Field) Text(more []uint64) string {
	i := int(f.At) - int(AtMore)
	if i < 0 || i >= len(more) {
		return ""
	}
	var b [MaxText]byte
	for j, w := range more[i:min(i+TextWords, len(more))] {
		binary.LittleEndian.PutUint64(b[8*j:], w)
	}
	return fileText(b[:])
}

// Words returns how many words of the slots after the event's own a user's field takes.
func (u FieldUse) Words() int {
	if u == FieldText {
		return TextWords
	}
	return 1
}

// A FieldUse tells what type and unit a field has. The table [FieldUses] is the only list of them: text, JSON, docs and what is exported
// derive from it. Values are part of the flight format: append, never renumber.
type FieldUse uint8

// The uses a field can have.
const (
	FieldUnused     FieldUse = iota
	FieldReason              // a [Reason]
	FieldBlocker             // a [Blocker]; [Blocker.Limit] tells of a time limit
	FieldThread              // a [ThreadID]; 0 is no thread of ours
	FieldScope               // a [ScopeID]; 0 is the root
	FieldDuration            // nanoseconds
	FieldCount               // a number of things
	FieldStack               // a [StackID]; 0 none
	FieldString              // a [StringID]
	FieldScopeIndex          // a [ScopeIndex]
	FieldScheduler           // a [SchedulerID]
	FieldFlags               // [RecordFlags]
	FieldTicks               // a moment, [Ticks]; 0 none
	FieldUserKind            // a number of a [UserKind]
	FieldText                // a short text, in [TextWords] words
	FieldInt                 // a signed number
	FieldFloat               // an IEEE 754 number of 64 bits
	FieldBool                // 0 or 1
	FieldBytes               // a number of bytes

	FieldUseCount
)

// A FieldInfo is a row of the table of uses.
type FieldInfo struct {
	Name string              // what docs call it
	Type string              // of the value: u8, u16, u32, u64, i64, f64, bool or text
	Unit string              // "" if it has none
	Text func(uint64) string // "" if the value says nothing. Of what only a reader of the file can resolve, the bare number
}

// FieldUses describes every use, indexed by [FieldUse].
var FieldUses = [FieldUseCount]FieldInfo{
	FieldUnused:     {"", "", "", func(uint64) string { return "" }},
	FieldReason:     {"reason", "u8", "", func(v uint64) string { return Reason(v).String() }},
	FieldBlocker:    {"blocker", "u64", "", func(v uint64) string { return (Blocker(v) &^ blockerLimited).String() }},
	FieldThread:     {"thread", "u64", "", idText},
	FieldScope:      {"scope", "u64", "", idText},
	FieldDuration:   {"duration", "u64", "ns", func(v uint64) string { return time.Duration(v).String() }},
	FieldCount:      {"count", "u64", "", countText},
	FieldStack:      {"stack", "u32", "", idText},
	FieldString:     {"string", "u32", "", idText},
	FieldScopeIndex: {"position of a scope's record", "u32", "", countText},
	FieldScheduler:  {"scheduler", "u16", "", idText},
	FieldFlags:      {"flags", "u8", "", countText},
	FieldTicks:      {"moment", "u64", "ticks", countText},
	FieldUserKind:   {"event of the program", "u32", "", idText},
	FieldText:       {"text", "text", "", func(uint64) string { return "" }},
	FieldInt:        {"number", "i64", "", func(v uint64) string { return strconv.FormatInt(int64(v), 10) }},
	FieldFloat:      {"number", "f64", "", func(v uint64) string { return strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64) }},
	FieldBool:       {"yes or no", "bool", "", func(v uint64) string { return strconv.FormatBool(v != 0) }},
	FieldBytes:      {"size", "u64", "bytes", countText},
}

func countText(v uint64) string { return strconv.FormatUint(v, 10) }

func idText(v uint64) string {
	if v == 0 {
		return ""
	}
	return "#" + strconv.FormatUint(v, 10)
}

// A Held tells how long carriers were held, and how many threads waited for one meanwhile: the victims. The duration is in the low 48 bits, in
// nanoseconds, the victims above; each is as large as it can be if it is larger. In files of before there were victims they are 0.
type Held uint64

const (
	heldBits   = 48
	maxHeld    = 1<<heldBits - 1
	maxVictims = 1<<(64-heldBits) - 1
)

// MakeHeld returns the word for d, which counts as 0 if it is less.
func MakeHeld(d time.Duration, victims uint64) Held {
	return Held(min(uint64(max(d, 0)), maxHeld) | min(victims, maxVictims)<<heldBits)
}

// Duration returns how long carriers were held; 78 hours is the most.
func (h Held) Duration() time.Duration { return time.Duration(h & maxHeld) }

// Victims returns how many threads waited; 65,535 stands for as many or more.
func (h Held) Victims() uint64 { return uint64(h >> heldBits) }

// String returns, for example, "12.5ms" or "12.5ms, 3 waited".
func (h Held) String() string {
	switch n := h.Victims(); n {
	case 0:
		return h.Duration().String()
	case maxVictims:
		return h.Duration().String() + ", 65535 or more waited"
	default:
		return h.Duration().String() + ", " + strconv.FormatUint(n, 10) + " waited"
	}
}
