package adapter

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// traps are the instructions of breakpoints.
var traps = map[string]string{"amd64": "\xcc", "arm64": "\x00\x00\x20\xd4"}

// trapped returns where an OS thread of a stopped process is, if there is a breakpoint; else 0.
func trapped(pid, tid int) (pc uint64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b)) // the last is the program counter
	if len(fields) == 0 {
		return 0, nil
	}
	if _, err := fmt.Sscanf(fields[len(fields)-1], "0x%x", &pc); err != nil {
		return 0, nil // it runs
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return 0, err
	}
	defer memory.Close()
	trap := traps[runtime.GOARCH]
	code := make([]byte, len(trap))
	if _, err := memory.ReadAt(code, int64(pc)); err != nil || trap == "" || string(code) != trap {
		return 0, nil
	}
	return pc, nil
}
