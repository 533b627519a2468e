package flight

import (
	"encoding/binary"
	"encoding/hex"
	"io"
	"reflect"
	"runtime"
	"strings"
)

// An Executable is the program of a process, as its flight file describes it.
type Executable struct {
	Path      string
	BuildID   string // see [BuildID]
	GoVersion string
	Function  string // the name of a function
	Address   uint64 // where it began in the process
}

// A Namer finds the frames at return addresses of a process in its executable.
type Namer interface {
	// Frames returns the frames at a return address, innermost first, as [Stack] has them; false if no function is there.
	Frames(pc uint64) ([]Frame, bool)
	Close() error
}

// NamesFrom sets how the reader finds names that a process has not written before it was killed. open is called when a name is missing, once,
// and only if the file tells the executable's build id; nil means that the executable is not to be had. NamesFrom belongs before the first use of the reader.
func (r *Reader) NamesFrom(open func(Executable) Namer) { r.openNamer = open }

// namesLocked returns the frames at a return address by the executable of a process that is gone.
func (r *Reader) namesLocked(pc uint64) ([]Frame, bool) {
	if open := r.openNamer; open != nil && r.goneLocked() {
		r.openNamer = nil
		h := &r.mu.header
		x := Executable{Path: fileText(h.Exe[:]), BuildID: fileText(h.BuildID[:]), GoVersion: fileText(h.GoVersion[:]), Function: markerName, Address: h.Marker}
		if x.BuildID != "" && x.Address != 0 {
			r.mu.namer = open(x)
		}
	}
	if r.mu.namer == nil {
		return nil, false
	}
	return r.mu.namer.Frames(pc)
}

func (r *Reader) goneLocked() bool {
	if r.mu.header.Status == statusEnded {
		return true
	}
	if alive, known := r.src.alive(); known {
		return !alive
	}
	return r.pid != 0 && processStatus(r.pid, r.mu.header.StartTime) == StatusGone
}

// markerName is a function of every program with a recorder. It tells readers where the program was loaded.
const markerName = "github.com/vtscope/vtscope/runtime/flight.Now"

// marker returns where the function begins, 0 if it has another name.
func marker() uint64 {
	f := runtime.FuncForPC(reflect.ValueOf(Now).Pointer())
	if f == nil || f.Name() != markerName {
		return 0
	}
	return uint64(f.Entry())
}

// BuildID returns the build id of an ELF file: "go:" and that of Go's linker, or else "gnu:" and that of another linker. It is "" if there is none, as with
// -ldflags=-buildid=, or one of more than 119 bytes.
func BuildID(file io.ReaderAt) string {
	const (
		header, programHeader        = 64, 56
		maxHeaders, maxNotes         = 1 << 10, 1 << 16
		kindNote                     = 4
		noteOfGo, noteOfGNU   uint32 = 4, 3
	)
	le := binary.LittleEndian
	var h [header]byte
	if _, err := file.ReadAt(h[:], 0); err != nil || string(h[:6]) != "\x7fELF\x02\x01" || le.Uint16(h[54:]) != programHeader {
		return ""
	}
	table := make([]byte, min(int(le.Uint16(h[56:])), maxHeaders)*programHeader)
	if _, err := file.ReadAt(table, int64(le.Uint64(h[32:])&^(1<<63))); err != nil {
		return ""
	}
	gnu := ""
	for ; len(table) > 0; table = table[programHeader:] {
		size := le.Uint64(table[32:])
		if le.Uint32(table) != kindNote || size > maxNotes {
			continue
		}
		notes := make([]byte, size)
		if _, err := file.ReadAt(notes, int64(le.Uint64(table[8:])&^(1<<63))); err != nil {
			continue
		}
		for len(notes) >= 12 {
			name, desc, kind := int(le.Uint32(notes)), int(le.Uint32(notes[4:])), le.Uint32(notes[8:])
			notes = notes[12:]
			end := alignUp(name, 4)
			if name > len(notes) || end > len(notes) || desc > len(notes)-end {
				break
			}
			owner, id := string(notes[:name]), notes[end:end+desc]
			notes = notes[min(len(notes), end+alignUp(desc, 4)):]
			switch {
			case owner == "Go\x00\x00" && kind == noteOfGo && len(id) > 0:
				return idThatFits("go:" + strings.TrimRight(string(id), "\x00"))
			case owner == "GNU\x00" && kind == noteOfGNU && len(id) > 0:
				gnu = "gnu:" + hex.EncodeToString(id)
			}
		}
	}
	return idThatFits(gnu)
}

// buildIDSize is the room for a build id in the header.
const buildIDSize = 120

func idThatFits(id string) string {
	if len(id) >= buildIDSize {
		return ""
	}
	return id
}
