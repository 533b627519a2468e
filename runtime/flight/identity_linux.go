package flight

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/vtscope/vtscope/internal/procfs"
)

// An identity tells a process from all others of the machine, also of those that had its pid.
type identity struct {
	startTime uint64
	bootID    [16]byte
	pidSpace  uint64
}

var selfIdentity = sync.OnceValue(func() identity {
	id := identity{bootID: bootID(), pidSpace: pidSpace("self")}
	if st, err := procfs.SelfStat(); err == nil {
		id.startTime = st.Start
	}
	return id
})

func bootID() (id [16]byte) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return id
	}
	b, err := hex.DecodeString(strings.ReplaceAll(trimSpace(text), "-", ""))
	if err == nil {
		copy(id[:], b)
	}
	return id
}

// pidSpace returns the inode of a process's pid namespace, 0 if unknown.
func pidSpace(pid string) uint64 {
	var st syscall.Stat_t
	if syscall.Stat("/proc/"+pid+"/ns/pid", &st) != nil {
		return 0
	}
	return st.Ino
}

func trimSpace(b []byte) string { return string(bytes.TrimSpace(b)) }
