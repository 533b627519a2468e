package memory

import (
	"os"
	"syscall"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Executable opens the executable of a process that is gone, for [flight.Reader.NamesFrom]. It returns nil unless the file has the build id that the process had: the names of
// another build would be wrong. The file needs no symbols.
func Executable(x flight.Executable) flight.Namer {
	l, known := layoutOf(x.GoVersion)
	if !known || x.BuildID == "" {
		return nil
	}
	f, err := os.OpenFile(x.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe in its place must not make us wait
	if err != nil {
		return nil
	}
	c := &core{file: f, kinds: []uint16{typeExecutable, typeShared}}
	if c.read() != nil || flight.BuildID(f) != x.BuildID {
		c.close()
		return nil
	}
	m, err := findModule(c, l)
	if err != nil {
		c.close()
		return nil
	}
	e := &executable{image: c, module: m}
	at, ok := e.addressOf(x)
	if !ok {
		c.close()
		return nil
	}
	e.moved = x.Address - at
	return e
}

// An executable is a program's file, as it would lie in memory where it was linked to.
type executable struct {
	image  *core // nil: the memory of the process itself
	module *module
	moved  uint64 // how much further up it lay in the process; wraps around
}

// addressOf returns where the function begins whose address in the process is known.
func (e *executable) addressOf(x flight.Executable) (uint64, bool) {
	if f, ok := e.module.find(x.Address); ok && f.start == x.Address && e.module.nameAt(f.name) == x.Function {
		return x.Address, true // it was not moved
	}
	for i := range e.module.count {
		start, _, ok := e.module.entry(i)
		if !ok {
			break
		}
		if f, ok := e.module.find(e.module.text + uint64(start)); ok && e.module.nameAt(f.name) == x.Function {
			return f.start, true
		}
	}
	return 0, false
}

func (e *executable) Frames(pc uint64) ([]flight.Frame, bool) {
	at := pc - e.moved
	if _, ok := e.module.find(at - 1); !ok {
		return nil, false
	}
	frames := e.module.frames(at)
	for i := range frames {
		frames[i].PC = pc
	}
	return frames, true
}

func (e *executable) Close() error {
	if e.image == nil {
		return nil
	}
	return e.image.close()
}
