package delve

import (
	"errors"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"
)

var errReadOnly = errors.New("delve: this process is only read")

// frozen is a process as Delve wants to see it, with one thread: the goroutine that is looked at. It cannot be changed or continued.
//
//	F1  What Delve calls of the embedded interface beyond the methods here would panic: it is for running, tracing and dumping a process.
//	F2  The binary's information was loaded with the same path and entry point that Delve asks for again: it is not loaded twice.
type frozen struct {
	proc.ProcessInternal
	info        *proc.BinaryInfo
	entry       uint64
	memory      proc.MemoryReadWriter
	thread      *parked
	breakpoints proc.BreakpointMap
}

func (f *frozen) BinInfo() *proc.BinaryInfo                         { return f.info }
func (f *frozen) EntryPoint() (uint64, error)                       { return f.entry, nil }
func (f *frozen) FindThread(id int) (proc.Thread, bool)             { return f.thread, id == f.thread.ThreadID() }
func (f *frozen) ThreadList() []proc.Thread                         { return []proc.Thread{f.thread} }
func (f *frozen) Breakpoints() *proc.BreakpointMap                  { return &f.breakpoints }
func (f *frozen) Memory() proc.MemoryReadWriter                     { return f.memory }
func (f *frozen) Valid() (bool, error)                              { return true, nil }
func (f *frozen) WriteBreakpoint(*proc.Breakpoint) error            { return errReadOnly }
func (f *frozen) EraseBreakpoint(*proc.Breakpoint) error            { return errReadOnly }
func (f *frozen) SupportsBPF() bool                                 { return false }
func (f *frozen) FollowExec(bool) error                             { return errReadOnly }
func (f *frozen) MemoryMap() ([]proc.MemoryMapEntry, error)         { return nil, errReadOnly }
func (f *frozen) StartCallInjection() (func(), error)               { return nil, errReadOnly }
func (f *frozen) StepInstruction(int) error                         { return errReadOnly }
func (f *frozen) Detach(int, bool) error                            { return nil }
func (f *frozen) Close() error                                      { return nil }
func (f *frozen) RequestManualStop(*proc.ContinueOnceContext) error { return errReadOnly }
func (f *frozen) ContinueOnce(*proc.ContinueOnceContext) (proc.Thread, proc.StopReason, error) {
	return nil, proc.StopUnknown, errReadOnly
}

// target makes Delve's view of the process. path is what the binary's information was loaded from.
func (f *frozen) target(path string) (*proc.Target, error) {
	f.breakpoints = proc.NewBreakpointMap()
	f.thread.process = f
	_, add := proc.NewGroup(f, proc.NewTargetGroupConfig{})
	return add(f, 1, f.thread, path, proc.StopAttached, "")
}

// parked is a goroutine that waits, as a thread with the registers that it has left.
type parked struct {
	process        *frozen
	g              uint64
	pc, sp, bp, lr uint64
	common         proc.CommonThread
}

func (t *parked) Breakpoint() *proc.BreakpointState      { return &proc.BreakpointState{} }
func (t *parked) ThreadID() int                          { return 1 }
func (t *parked) Registers() (proc.Registers, error)     { return registers{t}, nil }
func (t *parked) RestoreRegisters(proc.Registers) error  { return errReadOnly }
func (t *parked) BinInfo() *proc.BinaryInfo              { return t.process.info }
func (t *parked) ProcessMemory() proc.MemoryReadWriter   { return t.process.memory }
func (t *parked) SetCurrentBreakpoint(bool) error        { return nil }
func (t *parked) SoftExc() bool                          { return false }
func (t *parked) Common() *proc.CommonThread             { return &t.common }
func (t *parked) SetReg(uint64, *op.DwarfRegister) error { return errReadOnly }

type registers struct{ of *parked }

func (r registers) PC() uint64                          { return r.of.pc }
func (r registers) SP() uint64                          { return r.of.sp }
func (r registers) BP() uint64                          { return r.of.bp }
func (r registers) LR() uint64                          { return r.of.lr }
func (r registers) TLS() uint64                         { return 0 }
func (r registers) GAddr() (uint64, bool)               { return r.of.g, true }
func (r registers) Slice(bool) ([]proc.Register, error) { return nil, nil }
func (r registers) Copy() (proc.Registers, error)       { return r, nil }
