package delve

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/vtscope/vtscope/dump/locals"
)

// The states of a goroutine, in Go's runtime. scanning is a bit that the collector sets beside them.
const (
	gRunnable  = 1
	gRunning   = 2
	gSyscall   = 3
	gWaiting   = 4
	gDead      = 6
	gPreempted = 9
	scanning   = 0x1000
)

// largestCopy is how much of a stack is copied. What is above is read as it is then.
const largestCopy = 1 << 20

// A goroutine is one look at a goroutine's g, and at its stack.
type goroutine struct {
	id             uint64
	status         uint64
	pc, sp, bp, lr uint64
	low, high      uint64
	stack          []byte // from sp on
}

// fields are the offsets of what is read of a g.
type fields struct {
	size                  int
	id, status, low, high int64
	pc, sp, bp, lr        int64 // lr: 0 if there is none
}

// fieldsOf finds the fields of a g in the debug information of the program.
func fieldsOf(info *proc.BinaryInfo) (fields, error) {
	var f fields
	typ, err := info.FindType("runtime.g")
	g, ok := typ.(*godwarf.StructType)
	if err != nil || !ok {
		return f, noDebug
	}
	missing := ""
	find := func(in godwarf.Type, at int64, name string) (int64, godwarf.Type) {
		if s, ok := godwarf.ResolveTypedef(in).(*godwarf.StructType); ok {
			for _, field := range s.Field {
				if field.Name == name {
					return at + field.ByteOffset, field.Type
				}
			}
		}
		missing = name
		return 0, nil
	}
	f.size = int(g.ByteSize)
	f.id, _ = find(g, 0, "goid")
	f.status, _ = find(g, 0, "atomicstatus")
	at, inner := find(g, 0, "stack")
	f.low, _ = find(inner, at, "lo")
	f.high, _ = find(inner, at, "hi")
	at, inner = find(g, 0, "sched")
	f.pc, _ = find(inner, at, "pc")
	f.sp, _ = find(inner, at, "sp")
	f.bp, _ = find(inner, at, "bp")
	if missing == "" {
		f.lr, _ = find(inner, at, "lr")
		missing = ""
	}
	if missing != "" || f.size < 64 || f.size > 1<<14 {
		return f, fmt.Errorf("delve: goroutines of this Go release are not known: no field %q", missing)
	}
	return f, nil
}

var noDebug = &locals.Problem{Kind: "no-debug", Text: "the program has no debug information: it was built with -s or -w", Try: "build it without -ldflags=-s and -w"}

// read looks at the goroutine at an address.
func (f fields) read(memory proc.MemoryReader, address uint64) (*goroutine, error) {
	raw := make([]byte, f.size)
	if _, err := memory.ReadMemory(raw, address); err != nil {
		return nil, fmt.Errorf("delve: read goroutine at %#x: %w", address, err)
	}
	word := func(at int64) uint64 {
		if at < 0 || at > int64(len(raw)-8) {
			return 0
		}
		return binary.LittleEndian.Uint64(raw[at:])
	}
	g := &goroutine{
		id: word(f.id), status: word(f.status) & 0xffffffff &^ scanning, low: word(f.low), high: word(f.high),
		pc: word(f.pc), sp: word(f.sp), bp: word(f.bp),
	}
	if f.lr != 0 {
		g.lr = word(f.lr)
	}
	switch g.status {
	case gWaiting, gRunnable, gPreempted:
	case gRunning:
		return g, &locals.Problem{Kind: "runs", Text: "it runs: its variables are in registers, and change"}
	case gSyscall:
		return g, &locals.Problem{Kind: "runs", Text: "it is in a system call or in native code"}
	case gDead:
		return g, locals.ErrGone
	default:
		return g, fmt.Errorf("delve: read goroutine at %#x: it is in state %d: %w", address, g.status, locals.ErrRuns)
	}
	if g.id == 0 || g.low >= g.high || g.high-g.low > 1<<40 || g.sp < g.low || g.sp >= g.high {
		return g, fmt.Errorf("delve: no goroutine at %#x: its stack would be %#x to %#x, with the pointer at %#x", address, g.low, g.high, g.sp)
	}
	g.stack = make([]byte, min(g.high-g.sp, largestCopy))
	if _, err := memory.ReadMemory(g.stack, g.sp); err != nil {
		return g, fmt.Errorf("delve: read stack of goroutine %d: %w", g.id, err)
	}
	return g, nil
}

// same reports whether g and h look at a goroutine that did not run in between: what it has left is where it was and as it was.
func (g *goroutine) same(h *goroutine) bool {
	return g.id == h.id && g.pc == h.pc && g.sp == h.sp && g.bp == h.bp && g.low == h.low && g.high == h.high && bytes.Equal(g.stack, h.stack)
}

var errMoved = &locals.Problem{Kind: "moved", Text: fmt.Sprintf("it ran on meanwhile, %d times", tries), Try: "again, or when it waits for longer"}
