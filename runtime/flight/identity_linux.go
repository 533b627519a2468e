package flight

import (
	"bytes"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// An identity tells a process from all others of the machine, also of those that had its pid.
type identity struct {
	startTime uint64
	bootID    [16]byte
	pidSpace  uint64
}

var selfIdentity = sync.OnceValue(func() identity {
	id := identity{bootID: bootID(), pidSpace: pidSpace("self")}
	if st, err := readStat("self"); err == nil {
		id.startTime = st.startTime
	}
	return id
})

// A procStat is what /proc/PID/stat says that matters here.
type procStat struct {
	state     byte
	startTime uint64
	exiting   bool   // the kernel is ending it
	exit      uint32 // as wait gives it, of a process that has ended
	exitKnown bool
}

// readStat reads /proc/PID/stat of a process.
func readStat(pid string) (procStat, error) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return procStat{}, err
	}
	return parseStat(text)
}

// parseStat parses the line; the command's name, in parentheses, may hold anything.
func parseStat(text []byte) (procStat, error) {
	const state, flags, startTime, exitCode = 3, 9, 22, 52 // fields, counted from 1
	const exiting = 4                                      // PF_EXITING of the kernel
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return procStat{}, os.ErrInvalid
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) <= startTime-state || len(fields[0]) != 1 {
		return procStat{}, os.ErrInvalid
	}
	t, err := strconv.ParseUint(fields[startTime-state], 10, 64)
	st := procStat{state: fields[0][0], startTime: t}
	if bits, err := strconv.ParseUint(fields[flags-state], 10, 32); err == nil {
		st.exiting = bits&exiting != 0
	}
	if len(fields) > exitCode-state {
		exit, err := strconv.ParseUint(fields[exitCode-state], 10, 32)
		st.exit, st.exitKnown = uint32(exit), err == nil
	}
	return st, err
}

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
