package traceid

import (
	"encoding/binary"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Trace is the id of a trace, and a Span that of a span, as OpenTelemetry has them. All zeros is none.
type (
	Trace [16]byte
	Span  [8]byte
)

// A Seed distinguishes processes.
type Seed uint64

// What a hash is of.
const (
	ofScope uint64 = iota + 1
	ofThread
	ofPart
	traceHigh
	traceLow
)

// Of returns the seed of a process: of its number, when it was started, and what it executes.
func Of(p flight.Process) Seed {
	h := mix(uint64(p.PID), uint64(p.Start.UnixNano()))
	for _, b := range []byte(p.Exe) {
		h = mix(h, uint64(b))
	}
	return Seed(h)
}

// mix is the finaliser of splitmix64 on both: each bit of the result depends on each of them.
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 ^ b
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (s Seed) span(of, id uint64) (span Span) {
	h := mix(mix(uint64(s), of), id)
	if h == 0 {
		h = 1
	}
	binary.BigEndian.PutUint64(span[:], h)
	return span
}

// Scope returns the span of a scope.
func (s Seed) Scope(id flight.ScopeID) Span { return s.span(ofScope, uint64(id)) }

// Thread returns the span of a thread.
func (s Seed) Thread(id flight.ThreadID) Span { return s.span(ofThread, uint64(id)) }

// Part returns the span of the part of a thread's life that began at a time: a wait, or a time it was pinned.
func (s Seed) Part(id flight.ThreadID, began uint64) Span {
	return s.span(mix(ofPart, uint64(id)), began)
}

// Begun returns the trace that the span begins.
func (s Seed) Begun(by Span) (t Trace) {
	h := binary.BigEndian.Uint64(by[:])
	binary.BigEndian.PutUint64(t[:8], mix(mix(uint64(s), traceHigh), h))
	binary.BigEndian.PutUint64(t[8:], mix(mix(uint64(s), traceLow), h)|1)
	return t
}

// Share returns where the trace stands between 0 and 1 among all: a sampler with a ratio keeps those below it. It looks at the last seven bytes, as the specification of
// TraceIdRatioBased has them random.
func (t Trace) Share() float64 {
	return float64(binary.BigEndian.Uint64(t[8:])&(1<<56-1)) / (1 << 56)
}

// OtherShare is as Share, and does not depend on it: what a program's own sampler has kept by that is a sample again.
func (t Trace) OtherShare() float64 {
	return float64(mix(binary.BigEndian.Uint64(t[:8]), binary.BigEndian.Uint64(t[8:]))>>8) / (1 << 56)
}

// Share is as that of a trace.
func (s Span) Share() float64 {
	return float64(binary.BigEndian.Uint64(s[:])>>8) / (1 << 56)
}
