package memory

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"
	"strings"

	"github.com/vtscope/vtscope/internal/plainfile"
	"github.com/vtscope/vtscope/runtime/flight"
)

// ErrNoCore is what errors match of files that are no core files of a 64-bit Linux process.
var ErrNoCore = errors.New("not a core file")

// core is a core file, in ELF: of the kernel, gcore or Delve. No number in it is trusted. It is mapped, where that is possible, only to read;
// somebody may cut it meanwhile.
type core struct {
	file     *os.File
	kinds    []uint16 // of ELF files that it may be
	mapping  []byte   // nil: it is read
	touched  int      // pieces of the mapping, since the kernel was told to forget it
	size     uint64
	machine  uint16
	segments []segment // by address
	cut      bool      // the file ends before its segments do

	pid       int
	program   string
	entry     uint64 // of the program
	registers map[int]registers
	mapped    []mappedFile
	exe       string // path of the executable, as mapped; "" if that is not known

	override string // path of a copy of the executable; "" for the one that was mapped
	files    map[string]*os.File
	strange  []string // what is wrong with files that were mapped
}

// A segment is memory that the file has.
type segment struct {
	area
	offset   uint64
	writable bool
}

// A mappedFile is a file that the process had mapped.
type mappedFile struct {
	area
	offset uint64
	path   string
}

const (
	maxSegments = 1 << 20
	maxNotes    = 256 << 20
	maxMapped   = 1 << 20
	maxTouched  = 1 << 14 // pieces; each maps some pages around it
	maxScan     = 1 << 30 // bytes that are searched for the registry

	coreHeader = 64
	progHeader = 56

	typeExecutable = 2
	typeShared     = 3 // and executables that can be loaded anywhere
	typeCore       = 4
	machineX64     = 62
	machineARM     = 183
	progLoad       = 1
	progNote       = 4
	progWrite      = 2
	notePrStat     = 1
	notePrPS       = 3
	noteAuxv       = 6
	noteFile       = 0x46494c45
	auxEntry       = 9
	manySegment    = 0xffff // the number is in section 0
)

// openCoreFile reads what a core file says of itself. override is a copy of the executable, or "".
func openCoreFile(path, override string) (*core, error) {
	f, err := plainfile.Open(path)
	if errors.Is(err, plainfile.ErrIrregular) {
		err = fmt.Errorf("%w: %w", err, ErrNoCore)
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	c := &core{file: f, kinds: []uint16{typeCore}, override: override, registers: map[int]registers{}, files: map[string]*os.File{}}
	if err := c.read(); err != nil {
		c.close()
		return nil, fmt.Errorf("memory: read %s: %w", path, err)
	}
	return c, nil
}

func (c *core) read() error {
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	c.size = uint64(info.Size())
	c.mapping = mapFile(c.file, info.Size())
	var h [coreHeader]byte
	if _, err := c.file.ReadAt(h[:], 0); err != nil {
		return fmt.Errorf("header: %v: %w", err, ErrNoCore)
	}
	le := binary.LittleEndian
	switch c.machine = le.Uint16(h[18:]); {
	case string(h[:4]) != "\x7fELF" || h[4] != 2 || h[5] != 1:
		return fmt.Errorf("it is no 64-bit ELF file: %w", ErrNoCore)
	case !slices.Contains(c.kinds, le.Uint16(h[16:])):
		return fmt.Errorf("it is an ELF file of another kind (%d): %w", le.Uint16(h[16:]), ErrNoCore)
	case c.machine != machineX64 && c.machine != machineARM:
		return fmt.Errorf("of another processor (%d), want amd64 or arm64: %w", c.machine, ErrNoCore)
	case le.Uint16(h[54:]) != progHeader:
		return fmt.Errorf("program headers of %d bytes: %w", le.Uint16(h[54:]), ErrNoCore)
	}
	count := uint64(le.Uint16(h[56:]))
	if count == manySegment {
		var section [64]byte
		if at := le.Uint64(h[40:]); at > math.MaxInt64/2 || !c.readFull(section[:], at) {
			return fmt.Errorf("no number of segments: %w", ErrNoCore)
		}
		count = uint64(le.Uint32(section[44:]))
	}
	at := le.Uint64(h[32:])
	if count == 0 || count > maxSegments || at > c.size || count*progHeader > c.size-at {
		return fmt.Errorf("%d segments at %#x of a file of %d bytes: cut, or %w", count, at, c.size, ErrNoCore)
	}
	table := make([]byte, count*progHeader)
	if !c.readFull(table, at) {
		return fmt.Errorf("segments are cut: %w", ErrNoCore)
	}
	for ; len(table) > 0; table = table[progHeader:] {
		c.segment(table)
	}
	slices.SortStableFunc(c.segments, func(a, b segment) int { return cmp.Compare(a.from, b.from) })
	for _, m := range c.mapped {
		if m.has(c.entry) {
			c.exe = m.path
		}
	}
	return nil
}

func (c *core) readFull(p []byte, at uint64) bool {
	n, _ := c.file.ReadAt(p, int64(at))
	return n == len(p)
}

// segment notes a program header.
func (c *core) segment(b []byte) {
	le := binary.LittleEndian
	kind, flags := le.Uint32(b), le.Uint32(b[4:])
	offset, address, size := le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[32:])
	if size == 0 {
		return
	}
	if offset >= c.size {
		c.cut = true
		return
	}
	if size > c.size-offset {
		c.cut, size = true, c.size-offset
	}
	switch {
	case kind == progNote && size <= maxNotes:
		notes := make([]byte, size)
		if c.readFull(notes, offset) {
			c.notes(notes)
		}
	case kind == progLoad && address <= math.MaxInt64 && size <= math.MaxInt64:
		c.segments = append(c.segments, segment{area{address, address + size}, offset, flags&progWrite != 0})
	}
}

// notes reads what is told of the process beside its memory.
func (c *core) notes(b []byte) {
	le := binary.LittleEndian
	for len(b) >= 12 {
		name, size, kind := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:])), le.Uint32(b[8:])
		b = b[12:]
		name = (name + 3) &^ 3
		if name > uint64(len(b)) || size > uint64(len(b))-name {
			return
		}
		owner := string(bytes.TrimRight(b[:min(name, 16)], "\x00"))
		desc := b[name : name+size]
		b = b[min(uint64(len(b)), name+(size+3)&^3):]
		if owner != "CORE" {
			continue
		}
		switch kind {
		case notePrStat:
			c.thread(desc)
		case notePrPS:
			if len(desc) >= 56 {
				c.pid = int(int32(le.Uint32(desc[24:])))
				c.program, _, _ = strings.Cut(string(desc[40:56]), "\x00")
			}
		case noteAuxv:
			for ; len(desc) >= 16; desc = desc[16:] {
				if le.Uint64(desc) == auxEntry {
					c.entry = le.Uint64(desc[8:])
				}
			}
		case noteFile:
			c.mappings(desc)
		}
	}
}

// thread notes the registers of an OS thread.
func (c *core) thread(desc []byte) {
	const at = 112
	le := binary.LittleEndian
	word := func(i int) uint64 { return le.Uint64(desc[at+8*i:]) }
	switch {
	case c.machine == machineX64 && len(desc) >= at+8*27:
		c.registers[int(int32(le.Uint32(desc[32:])))] = registers{pc: word(16), sp: word(19), bp: word(4)}
	case c.machine == machineARM && len(desc) >= at+8*33:
		c.registers[int(int32(le.Uint32(desc[32:])))] = registers{pc: word(32), sp: word(31), bp: word(29), lr: word(30), arm: true}
	}
}

// mappings notes the files that were mapped: NT_FILE.
func (c *core) mappings(desc []byte) {
	le := binary.LittleEndian
	if len(desc) < 16 {
		return
	}
	n, page := le.Uint64(desc), le.Uint64(desc[8:])
	if n > maxMapped || n*24 > uint64(len(desc)-16) || page > 1<<20 {
		return
	}
	rows, names := desc[16:16+n*24], desc[16+n*24:]
	for ; len(rows) > 0; rows = rows[24:] {
		name, rest, ok := bytes.Cut(names, []byte{0})
		if !ok {
			return
		}
		names = rest
		m := mappedFile{area{le.Uint64(rows), le.Uint64(rows[8:])}, le.Uint64(rows[16:]) * page, string(name)}
		if m.from < m.to && m.offset < math.MaxInt64 {
			c.mapped = append(c.mapped, m)
		}
	}
	slices.SortStableFunc(c.mapped, func(a, b mappedFile) int { return cmp.Compare(a.from, b.from) })
}

func (c *core) ReadMemory(p []byte, address uint64) (n int) {
	for n < len(p) {
		k := c.part(p[n:], address+uint64(n))
		if k == 0 {
			break
		}
		n += k
	}
	return n
}

// part reads from one segment, or from the file that was mapped there.
func (c *core) part(p []byte, address uint64) int {
	i := sort.Search(len(c.segments), func(i int) bool { return c.segments[i].from > address }) - 1
	if i >= 0 && c.segments[i].has(address) {
		s := &c.segments[i]
		return c.at(p[:min(uint64(len(p)), s.to-address)], s.offset+address-s.from)
	}
	j := sort.Search(len(c.mapped), func(j int) bool { return c.mapped[j].from > address }) - 1
	if j < 0 || !c.mapped[j].has(address) {
		return 0
	}
	m := &c.mapped[j]
	end := m.to
	if i+1 < len(c.segments) {
		end = min(end, c.segments[i+1].from)
	}
	f := c.open(m)
	if f == nil {
		return 0
	}
	n, _ := f.ReadAt(p[:min(uint64(len(p)), end-address)], int64(m.offset+address-m.from))
	return n
}

// at reads from an offset, and returns how much there is.
func (c *core) at(p []byte, offset uint64) (n int) {
	if c.mapping == nil || offset > uint64(len(c.mapping)) {
		n, _ = c.file.ReadAt(p, int64(offset)) // what is missing was not read
		return n
	}
	if c.touched++; c.touched == maxTouched {
		c.touched = 0
		forget(c.mapping)
	}
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if v := recover(); v != nil { // it was cut
			if _, fault := v.(runtime.Error); !fault {
				panic(v)
			}
			n = 0
		}
	}()
	return copy(p, c.mapping[offset:])
}

// open opens a file that was mapped, if it is still the same, as far as the core has its beginning: there a program has its build id. Files that a
// process shares with others are not what they were.
func (c *core) open(m *mappedFile) *os.File {
	if f, ok := c.files[m.path]; ok {
		return f
	}
	c.files[m.path] = nil
	if m.path != c.exe && c.exe != "" {
		return nil
	}
	path := m.path
	if c.override != "" {
		path = c.override
	}
	f, err := plainfile.Open(path)
	if err != nil {
		c.strange = append(c.strange, err.Error())
		return nil
	}
	var then, now [4096]byte
	for _, s := range c.segments {
		first := c.mapped[slices.IndexFunc(c.mapped, func(o mappedFile) bool { return o.path == m.path })]
		if s.from != first.from || first.offset != 0 || s.to-s.from < uint64(len(then)) {
			continue
		}
		_, err := f.ReadAt(now[:], 0)
		if err != nil && err != io.EOF || !c.readFull(then[:], s.offset) || then != now {
			c.strange = append(c.strange, fmt.Sprintf("%s is another build", path))
			f.Close()
			return nil
		}
	}
	c.files[m.path] = f
	return f
}

func (c *core) readMany(spans []span) {
	for i := range spans {
		spans[i].n = c.ReadMemory(spans[i].to, spans[i].address)
	}
}

// writable returns the data of the executable, then other small areas that could be.
func (c *core) writable() []area {
	var own, others []area
	left := min(maxScan, c.size)
	for _, s := range c.segments {
		size := s.to - s.from
		if !s.writable || size > left {
			continue
		}
		left -= size
		if slices.ContainsFunc(c.mapped, func(m mappedFile) bool { return m.path == c.exe && m.has(s.from) }) {
			own = append(own, s.area)
		} else {
			others = append(others, s.area)
		}
	}
	return append(own, others...)
}

// Alive says that the process is gone.
func (c *core) Alive() (alive, known bool) { return false, true }

func (c *core) close() error {
	var errs []error
	for _, f := range c.files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	if c.mapping != nil {
		errs = append(errs, unmap(c.mapping))
		c.mapping = nil
	}
	return errors.Join(append(errs, c.file.Close())...)
}

// IsCore reports whether a file looks like a core file.
func IsCore(path string) bool {
	f, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var h [18]byte
	_, err = f.ReadAt(h[:], 0)
	return err == nil && string(h[:4]) == "\x7fELF" && binary.LittleEndian.Uint16(h[16:]) == typeCore
}

// OpenCore opens a core file. exe is a copy of the program that left it; "" for the file that it ran from, if that is still there. Where the kernel left out
// the memory that the process shares, the flight file serves, if it is beside the core or where it was. Errors match [ErrNoCore], [flight.ErrNotVtscope],
// [flight.ErrFormat] or those of opening a file.
func OpenCore(path, exe string) (*Source, error) {
	c, err := openCoreFile(path, exe)
	if err != nil {
		return nil, err
	}
	src, err := openRecorder(c, path)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("memory: read %s: %w", path, err)
	}
	return src, nil
}

// OpenGoCore opens the core file of any Go program, for its goroutines. exe is as that of [OpenCore]. How long goroutines wait is not known. Errors match [ErrNoCore],
// [ErrNotGo] or those of opening a file.
func OpenGoCore(path, exe string, o GoroutineOptions) (*Goroutines, error) {
	c, err := openCoreFile(path, exe)
	if err != nil {
		return nil, err
	}
	src, err := newGoroutines(c, o)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("memory: read %s: %w", path, err)
	}
	src.program.registers = func(tid int) (registers, bool) {
		r, ok := c.registers[tid]
		return r, ok
	}
	src.process.PID, src.process.Path, src.process.Exe = c.pid, path, cmp.Or(c.override, c.exe)
	src.process.Program = filepath.Base(src.process.Exe)
	if info, err := c.file.Stat(); err == nil {
		src.process.LastSeen = info.ModTime()
	}
	if c.cut {
		src.miss("the core is cut: its segments go on behind the end of the file")
	}
	return src, nil
}

func openRecorder(c *core, path string) (*Source, error) {
	g, err := findRegistry(c)
	if err != nil {
		if c.cut {
			return nil, fmt.Errorf("the file is cut: %w", err)
		}
		return nil, err
	}
	r, err := flight.OpenMemory(path, c, g, 0)
	beside := ""
	if err != nil {
		if r, beside = c.flightFile(g, path); r == nil {
			return nil, fmt.Errorf("its shared memory, with the recorder, is not in the core, and no flight file of it is beside: %w", err)
		}
	}
	src := open(c, r)
	if beside != "" && r.Process().Status.Live() {
		src.walker = nil
		src.miss("the core has no records: they are those of %s, which the process goes on to write", beside)
	} else if src.walker != nil {
		src.walker.stopped = true
		src.walker.mounted = src.walker.executing(func(tid int) (registers, func(), bool) {
			r, ok := c.registers[tid]
			return r, func() {}, ok
		})
	}
	if c.cut {
		src.miss("the core is cut: its segments go on behind the end of the file")
	}
	for _, why := range c.strange {
		src.miss("%s", why)
	}
	return src, nil
}

// flightFile opens the flight file of the process that left the core: where it was mapped, beside the core, or where flight files are.
func (c *core) flightFile(g flight.Registry, path string) (*flight.Reader, string) {
	const ending = ".flight"
	var tries []string
	for _, m := range c.mapped {
		if name := strings.TrimSuffix(m.path, " (deleted)"); strings.HasSuffix(name, ending) {
			tries = append(tries, filepath.Join(filepath.Dir(path), filepath.Base(name)), name)
		}
	}
	beside, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+ending)) // the pattern is good, or there are none
	tries = append(tries, beside...)
	processes, _ := flight.List() // those that cannot be read are not ours
	for _, p := range processes {
		if c.pid == 0 || p.PID == c.pid {
			tries = append(tries, p.Path)
		}
	}
	for _, name := range tries {
		r, err := flight.Open(name)
		if err != nil {
			continue
		}
		if r.Wrote(g) && (c.pid == 0 || r.Header().PID == c.pid) {
			return r, name
		}
		r.Close()
	}
	return nil, ""
}
