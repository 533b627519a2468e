package continuation_test

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/runtime/continuation"
)

// A trace is a program that a machine executes, once as a model, in which nothing is ever suspended, and once in continuations.
type trace []op

type op struct {
	kind opKind
	n    int
	body trace
}

type opKind uint8

const (
	opAdd opKind = iota
	opYield
	opPanic
	opCall0
	opCall1
	opCall3
	opCall9
	opCallVariadic
	opCallBig
	opCallReflect
	opCallMethodValue
	opCallInterface
	opCallClosure
	opCallGeneric
	opCatch
	opDefer
	opPin
	opPinDeferred
	opLoop
	opDeep
	opNested
	opCollect

	opKinds
)

// compound reports whether such operations have a body.
func (k opKind) compound() bool { return k >= opCall0 && k < opCollect }

const maxNesting = 8

// prompts of nested continuations. That of the outermost is the first.
var tracePrompts = [3]*continuation.Prompt{
	continuation.NewPrompt("first"), continuation.NewPrompt("second"), continuation.NewPrompt("third"),
}

// decode makes a trace of any bytes.
func decode(data []byte) trace {
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	var list func(depth int) trace
	list = func(depth int) (t trace) {
		for n := next()%5 + 1; n > 0 && len(data) > 0; n-- {
			o := op{kind: opKind(next()) % opKinds, n: next()}
			if o.kind.compound() {
				if depth == 0 {
					continue
				}
				o.body = list(depth - 1)
			}
			t = append(t, o)
		}
		return t
	}
	var t trace
	for len(data) > 0 {
		t = append(t, list(maxNesting)...)
	}
	return t
}

// A level is a continuation of a machine.
type level struct {
	prompt int
	base   int // calls around it
	pins   int
}

// A suspension is what must be seen when a continuation is suspended.
type suspension struct {
	level int
	stack []string // functions, innermost first
}

// A tracePanic is what traces panic with.
type tracePanic int

// A machine executes traces.
type machine struct {
	model *machine // to compare with; nil: this is one

	acc    uint64
	fuel   int      // so that every trace ends
	calls  []string // the functions of this file that are being executed, outermost first
	levels []level

	suspensions []suspension // all of them, of a model
	yields      int          // so far: unpinned ones
	suspended   int          // as seen by those who run continuations
	refused     int
	panics      int
	truth       []string // what package runtime says of the stack that is about to be suspended
	passed      uint64   // to who runs the continuation
	replied     uint64   // and back
	wrong       []string
}

// outcome is what a trace has come to.
type outcome struct {
	acc      uint64
	panicked bool
	value    int
}

// execute executes a trace from the beginning.
func (m *machine) execute(t trace) (o outcome) {
	m.fuel = 600
	defer func() {
		o.acc = m.acc
		if v := recover(); v != nil {
			o.panicked, o.value = true, valueOf(v)
		}
	}()
	m.nested(op{kind: opNested, body: t})
	return o
}

// valueOf returns what a trace has panicked with, through any number of continuations.
func valueOf(v any) int {
	if p, wrapped := v.(*continuation.Panic); wrapped {
		v = p.Value
	}
	value, ours := v.(tracePanic)
	if !ours {
		panic(v)
	}
	return int(value)
}

func (m *machine) mix(n int) { m.acc = (m.acc^uint64(n))*0x9e3779b97f4a7c15 + 1 }

func (m *machine) fail(format string, args ...any) {
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

// enter notes that a function has been called, leave that it returns. After a panic whoever recovers it forgets the calls.
func (m *machine) enter(function string) { m.calls = append(m.calls, "continuation_test."+function) }

func (m *machine) leave() { m.calls = m.calls[:len(m.calls)-1] }

//go:noinline
func (m *machine) ops(t trace) {
	m.enter("(*machine).ops")
	for _, o := range t {
		if m.fuel--; m.fuel < 0 {
			break
		}
		m.mix(int(o.kind))
		m.op(o)
	}
	m.leave()
}

type runner interface{ interfaced(o op) int }

//go:noinline
func (m *machine) op(o op) {
	m.enter("(*machine).op")
	local, text := m.acc, fmt.Sprint(o.n)
	switch o.kind {
	case opAdd:
		m.mix(o.n)
	case opYield:
		m.yield(o)
	case opPanic:
		m.panics++
		if m.panics%3 == 0 { // else hardly a trace comes to its end
			panic(tracePanic(o.n))
		}
	case opCall0:
		m.call0(o)
	case opCall1:
		m.mix(m.call1(o, o.n))
	case opCall3:
		n, err := m.call3(o, o.n, text, float64(o.n)/2)
		m.mix(n + len(err.Error()))
	case opCall9:
		m.mix(m.call9(o, 1, 2, 3, 4, 5, 6, 7, 8, o.n))
	case opCallVariadic:
		m.mix(m.variadic(o, o.n, text, 2.5))
	case opCallBig:
		big := [64]int{3: o.n}
		big = m.big(o, big)
		m.mix(big[3] + big[4])
	case opCallReflect:
		m.mix(int(reflect.ValueOf(m.reflected).Call([]reflect.Value{reflect.ValueOf(o), reflect.ValueOf(text)})[0].Int()))
	case opCallMethodValue:
		f := m.bound
		m.mix(f(o))
	case opCallInterface:
		m.mix(runner(m).interfaced(o))
	case opCallClosure:
		func() {
			m.enter("(*machine).op.func1")
			m.ops(o.body)
			m.mix(len(text))
			m.leave()
		}()
	case opCallGeneric:
		m.mix(generic(m, o, text))
	case opCatch:
		m.catch(o)
	case opDefer:
		m.deferring(o)
	case opPin:
		m.pin(o)
	case opPinDeferred:
		m.pinDeferred(o)
	case opLoop:
		for i := range o.n % 7 {
			m.mix(i)
			m.ops(o.body)
		}
	case opDeep:
		m.deep(o, o.n%64)
	case opNested:
		m.nested(o)
	case opCollect:
		if m.model != nil && o.n%8 == 0 {
			runtime.GC()
		}
	}
	m.mix(int(local) + len(text))
	m.leave()
}

//go:noinline
func (m *machine) call0(o op) {
	m.enter("(*machine).call0")
	m.ops(o.body)
	m.leave()
}

//go:noinline
func (m *machine) call1(o op, a int) int {
	m.enter("(*machine).call1")
	m.ops(o.body)
	m.leave()
	return a + 1
}

//go:noinline
func (m *machine) call3(o op, a int, b string, c float64) (int, error) {
	m.enter("(*machine).call3")
	m.ops(o.body)
	m.leave()
	return a + len(b) + int(c), errors.New(b)
}

//go:noinline
func (m *machine) call9(o op, a, b, c, d, e, f, g, h, i int) int {
	m.enter("(*machine).call9")
	m.ops(o.body)
	m.leave()
	return a + b*2 + c*3 + d*4 + e*5 + f*6 + g*7 + h*8 + i*9
}

//go:noinline
func (m *machine) variadic(o op, args ...any) int {
	m.enter("(*machine).variadic")
	m.ops(o.body)
	m.leave()
	return len(fmt.Sprint(args...))
}

//go:noinline
func (m *machine) big(o op, a [64]int) [64]int {
	m.enter("(*machine).big")
	b := a
	m.ops(o.body)
	b[4] = a[3] * 2
	m.leave()
	return b
}

//go:noinline
func (m *machine) reflected(o op, text string) int {
	m.enter("(*machine).reflected")
	m.ops(o.body)
	m.leave()
	return len(text)
}

//go:noinline
func (m *machine) bound(o op) int {
	m.enter("(*machine).bound")
	m.ops(o.body)
	m.leave()
	return o.n
}

//go:noinline
func (m *machine) interfaced(o op) int {
	m.enter("(*machine).interfaced")
	m.ops(o.body)
	m.leave()
	return o.n
}

//go:noinline
func generic[T any](m *machine, o op, v T) int {
	m.enter("generic[...]")
	m.ops(o.body)
	m.leave()
	return len(fmt.Sprint(v))
}

//go:noinline
func (m *machine) deep(o op, n int) {
	m.enter("(*machine).deep")
	if n > 0 {
		m.deep(o, n-1)
	} else {
		m.ops(o.body)
	}
	m.mix(n)
	m.leave()
}

// catch recovers what its body panics with, and executes it again in the deferred function, while the panicking frames still stand.
//
//go:noinline
func (m *machine) catch(o op) {
	around := len(m.calls)
	m.enter("(*machine).catch")
	defer func() {
		if v := recover(); v != nil {
			m.mix(valueOf(v))
			m.enter("(*machine).catch.func1")
			m.ops(o.body)
			m.calls = m.calls[:around]
		}
	}()
	m.ops(o.body)
	m.leave()
}

// deferring executes its body, and then again in a deferred function, panicking or not.
//
//go:noinline
func (m *machine) deferring(o op) {
	m.enter("(*machine).deferring")
	returns := false
	defer func() {
		m.enter("(*machine).deferring.func1")
		m.ops(o.body)
		m.leave()
		if returns {
			m.leave()
		}
	}()
	m.ops(o.body)
	returns = true
}

// pin leaves its section open if its body panics.
//
//go:noinline
func (m *machine) pin(o op) {
	m.enter("(*machine).pin")
	m.pinned(+1)
	m.ops(o.body)
	m.pinned(-1)
	m.leave()
}

//go:noinline
func (m *machine) pinDeferred(o op) {
	m.enter("(*machine).pinDeferred")
	m.pinned(+1)
	defer m.pinned(-1)
	m.ops(o.body)
	m.leave()
}

func (m *machine) pinned(by int) {
	m.levels[len(m.levels)-1].pins += by
	switch {
	case m.model == nil:
	case by > 0:
		continuation.Pin()
	default:
		continuation.Unpin()
	}
}

// nested executes its body as a continuation, whoever is suspended in it.
//
//go:noinline
func (m *machine) nested(o op) {
	m.enter("(*machine).nested")
	around, level := len(m.calls), level{prompt: o.n % len(tracePrompts), base: len(m.calls)}
	outer := len(m.levels)
	m.levels = append(m.levels, level)
	body := func() {
		m.enter("(*machine).nested.func1")
		m.ops(o.body)
		m.leave()
	}
	var c *continuation.Continuation
	defer func() {
		m.levels = m.levels[:outer]
		if c != nil && !c.Done() {
			m.fail("not done after its end")
		}
		if v := recover(); v != nil {
			m.calls = m.calls[:around] // those of the body are gone, or forgotten
			m.enter("(*machine).nested.func2")
			panic(v)
		}
	}()
	if m.model == nil {
		body()
	} else {
		c = continuation.New(tracePrompts[level.prompt], body)
		for !c.Run() {
			m.compare(c, outer)
		}
	}
	m.leave()
}

// yield suspends the innermost continuation of a prompt, if there is one.
//
//go:noinline
func (m *machine) yield(o op) {
	m.enter("(*machine).yield")
	defer m.leave()
	prompt := o.n % len(tracePrompts)
	target := len(m.levels) - 1
	pinned := false
	for ; target >= 0; target-- {
		pinned = pinned || m.levels[target].pins > 0
		if m.levels[target].prompt == prompt {
			break
		}
	}
	if target < 0 {
		return
	}
	passed := m.acc
	replied := passed*31 + uint64(m.yields)
	switch {
	case pinned:
		m.refused++
	case m.model == nil:
		stack := slices.Clone(m.calls[m.levels[target].base:])
		slices.Reverse(stack)
		m.suspensions = append(m.suspensions, suspension{target, stack})
	}
	if m.model != nil {
		called := false
		_, err := continuation.Suspend(tracePrompts[prompt], func(*continuation.Continuation) {
			called = true
			m.truth = truth()
			m.passed = passed
		})
		if got := errors.Is(err, continuation.ErrPinned); got != pinned || called == pinned || err != nil && !got {
			m.fail("suspend: %v, called f %v, want pinned %v", err, called, pinned)
		}
		if !pinned {
			replied = m.replied
		}
	}
	if !pinned {
		m.yields++
		m.acc ^= replied
	}
}

// compare looks at a continuation of a level that has just been suspended.
func (m *machine) compare(c *continuation.Continuation, at int) {
	i := m.suspended
	m.suspended++
	m.replied = m.passed*31 + uint64(m.yields)
	if i >= len(m.model.suspensions) {
		m.fail("suspension %d: there should be none", i)
		return
	}
	want := m.model.suspensions[i]
	if want.level != at {
		m.fail("suspension %d: of the continuation %d, want %d", i, at, want.level)
	}
	stack := c.Stack()
	var functions []string
	for _, f := range stack {
		if name := f.Function[strings.LastIndexByte(f.Function, '/')+1:]; strings.HasPrefix(name, "continuation_test.") {
			functions = append(functions, name)
		}
	}
	if !slices.Equal(functions, want.stack) {
		m.fail("suspension %d: the stack\n%s\nwant\n%s", i, strings.Join(functions, "\n"), strings.Join(want.stack, "\n"))
	}
	if lines := calls(stack); len(lines) < len(m.truth) || !slices.Equal(lines[:len(m.truth)], m.truth) {
		m.fail("suspension %d: the stack\n%s\nbegins not with\n%s", i, strings.Join(lines, "\n"), strings.Join(m.truth, "\n"))
	}
}
