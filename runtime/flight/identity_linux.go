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

// selfBuildID is that of the file that the process executes, also if its name is gone by now.
var selfBuildID = sync.OnceValue(func() string {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return ""
	}
	defer f.Close()
	return BuildID(f)
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
