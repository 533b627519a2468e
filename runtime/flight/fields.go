package flight

import (
	"strconv"
	"time"
)

// A FieldUse tells what one of an event's spare words means. The table [FieldUses] is the only list of them: text, JSON and docs
// derive from it.
type FieldUse uint8

// The meanings a spare word can have.
const (
	FieldUnused   FieldUse = iota
	FieldReason            // a [Reason]
	FieldBlocker           // a [Blocker]
	FieldThread            // a [ThreadID]; 0 is no thread of ours
	FieldScope             // a [ScopeID]
	FieldDuration          // nanoseconds
	FieldCount             // a plain number
	FieldHeld              // a [Held]

	FieldUseCount
)

// A FieldInfo is a row of the table of meanings.
type FieldInfo struct {
	Name string                // what docs call it
	Text func(v uint64) string // "" if v says nothing
	// Parts splits v for JSON and tables: one part, or several where a word holds several things.
	Parts func(v uint64) []FieldPart
}

// A FieldPart is one thing that a word holds. Its name ends in _ns if it is a duration.
type FieldPart struct {
	Name  string
	Value any // a uint64 or a string
}

// FieldUses describes every meaning, indexed by [FieldUse].
var FieldUses = [FieldUseCount]FieldInfo{
	FieldUnused:   {"", func(uint64) string { return "" }, func(uint64) []FieldPart { return nil }},
	FieldReason:   {"reason", reasonText, func(v uint64) []FieldPart { return []FieldPart{{"reason", reasonText(v)}} }},
	FieldBlocker:  {"blocker", blockerText, func(v uint64) []FieldPart { return []FieldPart{{"blocker", blockerText(v)}} }},
	FieldThread:   {"thread", idText, func(v uint64) []FieldPart { return []FieldPart{{"thread", v}} }},
	FieldScope:    {"scope", idText, func(v uint64) []FieldPart { return []FieldPart{{"scope", v}} }},
	FieldDuration: {"duration", durationText, func(v uint64) []FieldPart { return []FieldPart{{"duration_ns", v}} }},
	FieldCount:    {"count", countText, func(v uint64) []FieldPart { return []FieldPart{{"count", v}} }},
	FieldHeld: {"duration, victims", func(v uint64) string { return Held(v).String() }, func(v uint64) []FieldPart {
		return []FieldPart{{"duration_ns", uint64(Held(v).Duration())}, {"victims", Held(v).Victims()}}
	}},
}

func reasonText(v uint64) string   { return Reason(v).String() }
func blockerText(v uint64) string  { return Blocker(v).String() }
func durationText(v uint64) string { return time.Duration(v).String() }
func countText(v uint64) string    { return strconv.FormatUint(v, 10) }

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
