package memory

import (
	"context"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A load is a segment of a core file that a test makes.
type load struct {
	address uint64
	content []byte
}

// coreOf makes a core file.
func coreOf(notes []byte, loads ...load) []byte {
	le := binary.LittleEndian
	n := len(loads) + 1
	b := make([]byte, coreHeader+n*progHeader)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], typeCore)
	le.PutUint16(b[18:], machineX64)
	le.PutUint64(b[32:], coreHeader)
	le.PutUint16(b[54:], progHeader)
	le.PutUint16(b[56:], uint16(n))
	row := func(i int, kind, flags uint32, address uint64, content []byte) {
		h := b[coreHeader+i*progHeader:]
		le.PutUint32(h, kind)
		le.PutUint32(h[4:], flags)
		le.PutUint64(h[8:], uint64(len(b)))
		le.PutUint64(h[16:], address)
		le.PutUint64(h[32:], uint64(len(content)))
		le.PutUint64(h[40:], uint64(len(content)))
		b = append(b, content...)
	}
	row(0, progNote, 0, 0, notes)
	for i, l := range loads {
		row(i+1, progLoad, progWrite, l.address, l.content)
	}
	return b
}

// note makes a note.
func note(kind uint32, desc []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 5)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(desc)))
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = append(b, "CORE\x00\x00\x00\x00"...)
	return append(append(b, desc...), make([]byte, -len(desc)&3)...)
}

// smallCore has the registry of this process and the beginning of its recorder.
func smallCore(t testing.TB) []byte {
	t.Helper()
	r, err := flight.New(flight.Options{Mode: flight.ModePrivate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	p, err := openProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	g, err := findRegistry(p)
	if err != nil {
		t.Fatal(err)
	}
	data, header := make([]byte, 4096), make([]byte, 64<<10+4096)
	p.ReadMemory(data, g.Address&^4095)
	header = header[:p.ReadMemory(header, g.Header)]
	status := make([]byte, 336)
	binary.LittleEndian.PutUint32(status[32:], 99)
	auxv := binary.LittleEndian.AppendUint64(nil, auxEntry)
	auxv = append(auxv, make([]byte, 8)...)
	files := make([]byte, 16+24, 100)
	files[0] = 1
	files = append(files, "/nowhere\x00"...)
	notes := append(append(note(notePrStat, status), note(noteAuxv, auxv)...), note(noteFile, files)...)
	return coreOf(notes, load{g.Address &^ 4095, data}, load{g.Header, header})
}

// take does with a core what vtdump does, and returns how many threads there were.
func take(path string) (threads int, err error) {
	src, err := OpenCore(path, "")
	if err != nil {
		return 0, err
	}
	defer src.Close()
	_, err = src.Threads(context.Background(), func(rows []flight.ThreadRow) {
		threads += len(rows)
		src.Stack(rows[0].Stack) // whatever it says
		src.ThreadName(rows[0])
	})
	return threads, err
}

func writeCore(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestASmallCoreIsRead(t *testing.T) {
	if _, err := take(writeCore(t, smallCore(t))); err != nil && !errors.Is(err, flight.ErrIncomplete) {
		t.Fatal(err)
	}
}

func TestCoresThatLieAreErrors(t *testing.T) {
	good := smallCore(t)
	le := binary.LittleEndian
	change := func(at int, to ...byte) []byte {
		b := append([]byte(nil), good...)
		copy(b[at:], to)
		return b
	}
	huge := le.AppendUint64(nil, 1<<63)
	for name, c := range map[string]struct {
		content []byte
		want    error
	}{
		"empty":                {nil, ErrNoCore},
		"text":                 {[]byte(strings.Repeat("no core at all\n", 100)), ErrNoCore},
		"a program":            {change(16, 2), ErrNoCore},
		"32 bits":              {change(4, 1), ErrNoCore},
		"another processor":    {change(18, 40), ErrNoCore},
		"segments elsewhere":   {change(32, huge...), ErrNoCore},
		"too many segments":    {change(56, 0xfe, 0xff), ErrNoCore},
		"many segments":        {change(56, 0xff, 0xff), ErrNoCore},
		"header alone":         {good[:coreHeader], ErrNoCore},
		"no content":           {good[:coreHeader+3*progHeader], flight.ErrNotVtscope},
		"cut in the recorder":  {good[:len(good)-4096-60<<10], flight.ErrFormat},
		"segments that lie":    {change(coreHeader+progHeader+8, huge...), flight.ErrNotVtscope},
		"addresses that lie":   {change(coreHeader+progHeader+16, huge...), flight.ErrNotVtscope},
		"notes larger than it": {change(coreHeader+32, huge...), nil},
	} {
		_, err := take(writeCore(t, c.content))
		if c.want != nil && !errors.Is(err, c.want) || err != nil && c.want == nil && !errors.Is(err, flight.ErrIncomplete) {
			t.Errorf("%s: got error %v, want %v", name, err, c.want)
		}
	}
	if _, err := OpenCore(t.TempDir(), ""); !errors.Is(err, ErrNoCore) {
		t.Errorf("a directory: got error %v, want ErrNoCore", err)
	}
	if _, err := OpenCore(filepath.Join(t.TempDir(), "none"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got error %v, want that there is none", err)
	}
}

func TestAHugeSparseCoreIsNoMoreWorkThanItsData(t *testing.T) {
	const size = 100 << 30
	b := coreOf(nil, load{1 << 20, nil}, load{1 << 30, nil})
	for i := range 2 {
		h := b[coreHeader+(i+1)*progHeader:]
		binary.LittleEndian.PutUint64(h[8:], 4096+uint64(i)*size/2)
		binary.LittleEndian.PutUint64(h[32:], size/2-4096)
	}
	path := writeCore(t, b)
	if err := os.Truncate(path, size); err != nil {
		t.Skipf("no sparse file of 100 GB: %v", err)
	}
	if _, err := take(path); !errors.Is(err, flight.ErrNotVtscope) {
		t.Errorf("got error %v, want ErrNotVtscope", err)
	}
}

func FuzzCore(f *testing.F) {
	good := smallCore(f)
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add(coreOf(nil))
	path := filepath.Join(f.TempDir(), "core")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		take(path) // any error will do
	})
}

func TestLayoutsAreThoseOfTheRelease(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		path := childtest.BuildWith(t, []string{"GOARCH=" + arch, "CGO_ENABLED=0"}, "./fixtures/parade")
		e, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		d, err := e.DWARF()
		if err != nil {
			t.Fatal(err)
		}
		offsets := map[string]int{}
		for r := d.Reader(); ; {
			entry, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if entry == nil {
				break
			}
			name, _ := entry.Val(dwarf.AttrName).(string)
			wanted := []string{"runtime.g", "runtime.m", "runtime.moduledata", "runtime.gobuf", "runtime.sudog", "runtime.pollDesc"}
			if entry.Tag != dwarf.TagStructType || !slices.Contains(wanted, name) {
				continue
			}
			typ, err := d.Type(entry.Offset)
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range typ.(*dwarf.StructType).Field {
				offsets[name+"."+field.Name] = int(field.ByteOffset)
			}
		}
		l, ok := layoutOf(runtime.Version())
		if !ok {
			t.Fatalf("no layout for %s", runtime.Version())
		}
		sched := offsets["runtime.g.sched"]
		for name, c := range map[string][2]int{
			"stack": {l.gStackLo, offsets["runtime.g.stack"]}, "m": {l.gM, offsets["runtime.g.m"]},
			"sp": {l.gSP, sched + offsets["runtime.gobuf.sp"]}, "pc": {l.gPC, sched + offsets["runtime.gobuf.pc"]},
			"g": {l.gSelf, sched + offsets["runtime.gobuf.g"]}, "bp": {l.gBP, sched + offsets["runtime.gobuf.bp"]},
			"syscallsp": {l.gSyscallSP, offsets["runtime.g.syscallsp"]}, "syscallpc": {l.gSyscallPC, offsets["runtime.g.syscallpc"]},
			"syscallbp": {l.gSyscBP, offsets["runtime.g.syscallbp"]}, "atomicstatus": {l.gStatus, offsets["runtime.g.atomicstatus"]},
			"trackingSeq": {l.gSeq, offsets["runtime.g.trackingSeq"]},
			"goid":        {l.gID, offsets["runtime.g.goid"]}, "waitsince": {l.gSince, offsets["runtime.g.waitsince"]}, "waitreason": {l.gReason, offsets["runtime.g.waitreason"]},
			"parentGoid": {l.gParent, offsets["runtime.g.parentGoid"]}, "gopc": {l.gMadeAt, offsets["runtime.g.gopc"]}, "startpc": {l.gStart, offsets["runtime.g.startpc"]},
			"tracking": {l.gTracking, offsets["runtime.g.tracking"]}, "trackingStamp": {l.gStamp, offsets["runtime.g.trackingStamp"]},
			"waiting": {l.gWaiting, offsets["runtime.g.waiting"]},
			"labels":  {l.gLabels, offsets["runtime.g.labels"]}, "lockedm": {l.gLockedM, offsets["runtime.g.lockedm"]},
			"edata": {l.data + 8, offsets["runtime.moduledata.edata"]}, "bss": {l.bss, offsets["runtime.moduledata.bss"]},
			"procid": {l.mProcID, offsets["runtime.m.procid"]}, "curg": {l.mCurG, offsets["runtime.m.curg"]}, "vdsoSP": {l.mVdsoSP, offsets["runtime.m.vdsoSP"]},
			"text": {l.text, offsets["runtime.moduledata.text"]}, "etext": {l.etext, offsets["runtime.moduledata.etext"]},
			"elem": {l.sudogElem, offsets["runtime.sudog.elem"]}, "isSelect": {l.sudogSelect, offsets["runtime.sudog.isSelect"]},
			"waitlink": {l.sudogLink, offsets["runtime.sudog.waitlink"]}, "c": {l.sudogC, offsets["runtime.sudog.c"]},
			"fd": {l.pollFD, offsets["runtime.pollDesc.fd"]}, "rg": {l.pollG, offsets["runtime.pollDesc.rg"]}, "wg": {l.pollG + 8, offsets["runtime.pollDesc.wg"]},
			"gofunc": {l.gofunc, offsets["runtime.moduledata.gofunc"]}, "pctab": {l.pctab, offsets["runtime.moduledata.pctab"]}, "ftab": {l.ftab, offsets["runtime.moduledata.ftab"]},
		} {
			if c[0] != c[1] {
				t.Errorf("%s, %s: got offset %d in layouts, want %d as in %s", arch, name, c[0], c[1], runtime.Version())
			}
		}
	}
	if _, ok := layoutOf("go1.99.1"); ok {
		t.Error("an unknown release has a layout")
	}
	for _, version := range []string{"go1.19", "go1.25", "go1.26.8", "go1.26rc1 X:nodwarf5"} {
		if _, ok := layoutOf(version); !ok {
			t.Errorf("%s has no layout", version)
		}
	}
}

func TestACoreThatIsCutWhileItIsReadIsAnErrorNotACrash(t *testing.T) {
	path := writeCore(t, smallCore(t))
	c, err := openCoreFile(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	last := c.segments[len(c.segments)-1]
	b := make([]byte, 4096)
	if n := c.ReadMemory(b, last.to-4096); n != len(b) {
		t.Fatalf("got %d bytes, want 4096", n)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if n := c.ReadMemory(b, last.to-4096); n != 0 {
		t.Errorf("got %d bytes of what was cut off, want 0", n)
	}
}
