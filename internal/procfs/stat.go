package procfs

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A Stat is the part of /proc/PID/stat that identifies a process and its state.
type Stat struct {
	State     byte
	Exiting   bool   // the kernel is ending the process
	Start     uint64 // in ticks since boot
	Exit      uint32 // as wait returns it, of a process that has ended
	ExitKnown bool
}

// Ended reports whether only the remains of the process are there.
func (s Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' }

// ReadStat reads the stat of a process.
func ReadStat(pid int) (Stat, error) { return readStat(strconv.Itoa(pid)) }

// SelfStat reads the stat of this process.
func SelfStat() (Stat, error) { return readStat("self") }

func readStat(process string) (Stat, error) {
	path := "/proc/" + process + "/stat"
	text, err := os.ReadFile(path)
	if err != nil {
		return Stat{}, err
	}
	s, err := parseStat(text)
	if err != nil {
		return Stat{}, &os.PathError{Op: "parse", Path: path, Err: err}
	}
	return s, nil
}

// parseStat parses the line. The name of the command, in parentheses, may hold anything.
func parseStat(text []byte) (Stat, error) {
	const state, flags, start, exitCode = 3, 9, 22, 52 // fields of proc_pid_stat(5), counted from 1
	const exiting = 4                                  // PF_EXITING of the kernel
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return Stat{}, os.ErrInvalid
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) <= start-state || len(fields[0]) != 1 {
		return Stat{}, os.ErrInvalid
	}
	t, err := strconv.ParseUint(fields[start-state], 10, 64)
	if err != nil {
		return Stat{}, err
	}
	s := Stat{State: fields[0][0], Start: t}
	if bits, err := strconv.ParseUint(fields[flags-state], 10, 32); err == nil {
		s.Exiting = bits&exiting != 0
	}
	if len(fields) > exitCode-state {
		exit, err := strconv.ParseUint(fields[exitCode-state], 10, 32)
		s.Exit, s.ExitKnown = uint32(exit), err == nil
	}
	return s, nil
}

// OwnPID returns the pid that a process has in its own pid namespace. It is pid itself if the kernel does not say.
func OwnPID(pid int) (int, error) {
	ids, err := Status(pid, "NSpid")
	if err != nil || len(ids) == 0 {
		return pid, err
	}
	return ids[len(ids)-1], nil
}

// UIDs returns the real, effective, saved and file system user of a process.
func UIDs(pid int) ([]int, error) { return Status(pid, "Uid") }

// Status returns the numbers of a line of /proc/PID/status, nil if there is no such line.
func Status(pid int, name string) (numbers []int, err error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, name+":")
		if !found {
			continue
		}
		for _, word := range strings.Fields(rest) {
			n, err := strconv.Atoi(word)
			if err != nil {
				return nil, &os.PathError{Op: "parse", Path: path, Err: err}
			}
			numbers = append(numbers, n)
		}
		return numbers, nil
	}
	return nil, nil
}
