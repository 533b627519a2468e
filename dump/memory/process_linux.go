package memory

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/internal/procfs"
	"github.com/vtscope/vtscope/runtime/flight"
)

// process is the memory of a process that lives. It is read without the process noticing.
type process struct {
	pid   int
	start uint64 // field 22 of /proc/PID/stat: another process may get the pid
	areas []area
	mem   *os.File // /proc/PID/mem, where process_vm_readv is not to be had; else nil

	tracer *tracer   // nil: nothing is ever stopped
	cost   *tracer   // what it did, also when it has ended
	began  time.Time // when all was stopped, if it was
	ended  time.Time
}

// openProcess finds out whether the memory of a process can be read.
func openProcess(pid int) (*process, error) {
	start, ok := startOf(pid)
	if !ok {
		return nil, fmt.Errorf("memory: read process %d: %w", pid, flight.ErrNoProcess)
	}
	p := &process{pid: pid, start: start}
	var err error
	if p.areas, err = areasOf(pid); err != nil {
		return nil, p.failed("read its mappings", err)
	}
	if len(p.areas) == 0 {
		return nil, fmt.Errorf("memory: read process %d: it has no executable: %w", pid, flight.ErrNotVtscope)
	}
	var probe [8]byte
	if _, err = p.vectored([]span{{address: p.areas[0].from, to: probe[:]}}); err == nil {
		return p, nil
	}
	if p.mem, _ = os.Open(fmt.Sprintf("/proc/%d/mem", pid)); p.mem != nil {
		if _, memErr := p.mem.ReadAt(probe[:], int64(p.areas[0].from)); memErr == nil {
			return p, nil
		}
		p.mem.Close()
	}
	return nil, p.failed("read its memory", err)
}

// startOf returns when a process was started, and false if there is none, or only its remains.
func startOf(pid int) (start uint64, ok bool) {
	st, err := procfs.ReadStat(pid)
	return st.Start, err == nil && !st.Ended()
}

// areasOf returns where the data of a process's executable lies: what can be written first, then what is only read.
func areasOf(pid int) ([]area, error) {
	var exe syscall.Stat_t
	if err := syscall.Stat(fmt.Sprintf("/proc/%d/exe", pid), &exe); err != nil {
		return nil, err
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var written, read []area
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		m, ok := parseMapping(lines.Text())
		if !ok || m.inode != exe.Ino || m.rights[2] == 'x' {
			continue
		}
		if m.rights[1] == 'w' {
			written = append(written, m.area)
		} else if m.rights[0] == 'r' {
			read = append(read, m.area)
		}
	}
	return append(written, read...), lines.Err()
}

// A mapping is a line of /proc/PID/maps.
type mapping struct {
	area
	rights string
	inode  uint64
	path   string
}

func parseMapping(line string) (m mapping, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 || len(fields[1]) < 4 {
		return m, false
	}
	from, to, _ := strings.Cut(fields[0], "-")
	var errs [3]error
	m.from, errs[0] = strconv.ParseUint(from, 16, 64)
	m.to, errs[1] = strconv.ParseUint(to, 16, 64)
	m.inode, errs[2] = strconv.ParseUint(fields[4], 10, 64)
	m.rights = fields[1]
	if len(fields) > 5 {
		m.path = fields[5]
	}
	return m, errors.Join(errs[:]...) == nil && m.from < m.to
}

func (p *process) writable() []area { return p.areas }

func (p *process) close() error {
	if p.tracer != nil {
		p.tracer.close()
		p.tracer, p.ended = nil, time.Now()
	}
	if p.mem != nil {
		return p.mem.Close()
	}
	return nil
}

// Alive reports whether the process is still there.
func (p *process) Alive() (alive, known bool) {
	start, ok := startOf(p.pid)
	return ok && start == p.start, true
}

func (p *process) ReadMemory(to []byte, address uint64) int {
	spans := [1]span{{address: address, to: to}}
	p.readMany(spans[:])
	return spans[0].n
}

const maxVector = 1024 // UIO_MAXIOV

func (p *process) readMany(spans []span) {
	for len(spans) > 0 {
		if p.mem != nil {
			spans[0].n, _ = p.mem.ReadAt(spans[0].to, int64(spans[0].address&(1<<63-1))) // what is missing was not read
			spans = spans[1:]
			continue
		}
		batch := spans[:min(len(spans), maxVector)]
		n, err := p.vectored(batch)
		if err != nil {
			n = 0
		}
		// The kernel stops at the first piece that it cannot read: that one is left out, and those behind it are read.
		done := 0
		for done < len(batch) && n >= len(batch[done].to) {
			batch[done].n = len(batch[done].to)
			n -= batch[done].n
			done++
		}
		if done < len(batch) {
			batch[done].n = n
			done++
		}
		if spans = spans[done:]; err != nil && errors.Is(err, syscall.ESRCH) {
			return
		}
	}
}

// A vector is what the kernel is told to read, and to where.
type vector struct {
	local  [maxVector]syscall.Iovec
	remote [maxVector]remoteVector
}

// A remoteVector is an iovec of another process. Of this one, too, no address may be a pointer to Go: what it
// points to may be free.
type remoteVector struct{ base, len uintptr }

var vectors = sync.Pool{New: func() any { return new(vector) }}

// vectored reads at most maxVector spans, and returns how many bytes it has read of them together.
func (p *process) vectored(spans []span) (int, error) {
	if sysProcessVMReadv == 0 {
		return 0, syscall.ENOSYS
	}
	v := vectors.Get().(*vector)
	defer vectors.Put(v)
	local, remote := v.local[:len(spans)], v.remote[:len(spans)]
	clear(local)
	clear(remote)
	for i := range spans {
		if len(spans[i].to) == 0 {
			continue
		}
		local[i] = syscall.Iovec{Base: &spans[i].to[0], Len: uint64(len(spans[i].to))}
		remote[i] = remoteVector{uintptr(spans[i].address), uintptr(len(spans[i].to))}
	}
	n, _, errno := syscall.Syscall6(sysProcessVMReadv, uintptr(p.pid), uintptr(unsafe.Pointer(&v.local)), uintptr(len(spans)),
		uintptr(unsafe.Pointer(&v.remote)), uintptr(len(spans)), 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// failed says why the kernel does not let us, and what would help.
func (p *process) failed(what string, err error) error {
	switch {
	case errors.Is(err, syscall.ESRCH), errors.Is(err, fs.ErrNotExist):
		err = flight.ErrNoProcess
	case errors.Is(err, fs.ErrPermission):
		return &Denied{Err: fmt.Errorf("memory: read process %d: %s: %w", p.pid, what, flight.ErrPermission), Try: adviceFor(p.pid)}
	}
	return fmt.Errorf("memory: read process %d: %s: %w", p.pid, what, err)
}

// adviceFor says who may read the memory of a process, or trace it.
func adviceFor(pid int) string {
	const capability = "with CAP_SYS_PTRACE (sudo has it; in a container: --cap-add SYS_PTRACE)"
	if uids, err := procfs.UIDs(pid); err == nil && len(uids) > 0 && uids[0] != os.Geteuid() {
		return "as user " + strconv.Itoa(uids[0]) + ", who runs it, or " + capability
	}
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	switch strings.TrimSpace(string(scope)) {
	case "1":
		return capability + ", or as its parent;\n     or while kernel.yama.ptrace_scope is 0"
	case "2":
		return capability + ": kernel.yama.ptrace_scope is 2"
	case "3":
		return "a core file: kernel.yama.ptrace_scope is 3, which forbids it to everybody until the machine is started again"
	}
	return capability + ": the process has capabilities, or a user namespace, that we have not, or may not be dumped (prctl)"
}
