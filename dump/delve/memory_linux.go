package delve

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"github.com/go-delve/delve/pkg/proc"
	"golang.org/x/sys/unix"

	"github.com/vtscope/vtscope/dump/locals"
)

// process is the memory of a process that lives. It is read without the process noticing.
type process struct {
	pid int
	mem *os.File // /proc/PID/mem, where process_vm_readv is not to be had; else nil
}

func openProcess(pid int) (*process, error) {
	p := &process{pid: pid}
	entry, err := p.entry()
	if err != nil {
		return nil, p.failed(err)
	}
	var probe [8]byte
	if _, err = p.ReadMemory(probe[:], entry); err == nil {
		return p, nil
	}
	if p.mem, _ = os.Open(fmt.Sprintf("/proc/%d/mem", pid)); p.mem != nil {
		if _, memErr := p.ReadMemory(probe[:], entry); memErr == nil {
			return p, nil
		}
		p.mem.Close()
	}
	return nil, p.failed(err)
}

func (p *process) close() error {
	if p.mem != nil {
		return p.mem.Close()
	}
	return nil
}

// failed tells what an error means to who wants to read the process.
func (p *process) failed(err error) error {
	text := fmt.Sprintf("read process %d: %v", p.pid, err)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, fs.ErrNotExist):
		return &locals.Problem{Kind: "gone", Text: text}
	case !errors.Is(err, fs.ErrPermission):
		return errors.New("delve: " + text)
	}
	try := "as root"
	if info, statErr := os.Stat(fmt.Sprintf("/proc/%d", p.pid)); statErr == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
			try = fmt.Sprintf("as root, or as the user with uid %d, who runs it", st.Uid)
		}
	}
	if scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); len(scope) > 0 && scope[0] != '0' {
		try += "; this system lets only parents read (kernel.yama.ptrace_scope=" + string(scope[:1]) + "), unless with CAP_SYS_PTRACE"
	}
	return &locals.Problem{Kind: "denied", Text: text, Try: try}
}

func (p *process) ReadMemory(buf []byte, address uint64) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	if address > 1<<63-1 {
		return 0, unix.EFAULT
	}
	if p.mem != nil {
		return p.mem.ReadAt(buf, int64(address))
	}
	to := []unix.Iovec{{Base: &buf[0]}}
	to[0].SetLen(len(buf))
	n, err := unix.ProcessVMReadv(p.pid, to, []unix.RemoteIovec{{Base: uintptr(address), Len: len(buf)}}, 0)
	if err == nil && n < len(buf) {
		err = unix.EFAULT
	}
	return max(n, 0), err
}

// entry returns where the process's executable begins to run, which tells where it was loaded.
func (p *process) entry() (uint64, error) {
	const atEntry = 9
	aux, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", p.pid))
	if err != nil {
		return 0, err
	}
	for ; len(aux) >= 16; aux = aux[16:] {
		if binary.LittleEndian.Uint64(aux) == atEntry {
			return binary.LittleEndian.Uint64(aux[8:]), nil
		}
	}
	return 0, errors.New("it has no program")
}

// openLive loads the debug information of a process's program, and gives its memory.
func openLive(pid int) (*source, error) {
	p, err := openProcess(pid)
	if err != nil {
		return nil, err
	}
	s := &source{memory: p, path: fmt.Sprintf("/proc/%d/exe", pid), close: p.close, live: true}
	if s.entry, err = p.entry(); err != nil {
		return nil, errors.Join(p.failed(err), p.close())
	}
	s.info = proc.NewBinaryInfo("linux", runtime.GOARCH, true)
	if err := s.info.LoadBinaryInfo(s.path, s.entry, nil); err != nil {
		return nil, errors.Join(p.failed(err), p.close())
	}
	return s, nil
}
