package memory

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/internal/procfs"
	"github.com/vtscope/vtscope/runtime/flight"
)

// GoProcesses returns the processes of Go programs that the user may look at, but for this one, in the order of their pids. Those in without are left out. Their
// goroutines are counted, which stops none of them and takes some milliseconds each.
func GoProcesses(without func(pid int) bool) []GoProcess {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []GoProcess
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || without(pid) {
			continue
		}
		if p, ok := goProcess(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

func goProcess(pid int) (p GoProcess, ok bool) {
	start, ok := startOf(pid)
	if !ok {
		return p, false
	}
	link := fmt.Sprintf("/proc/%d/exe", pid)
	exe, err := os.Readlink(link)
	if err != nil {
		return p, false // it is somebody else's
	}
	info, err := buildinfo.ReadFile(link)
	if err != nil {
		return p, false
	}
	p = GoProcess{PID: pid, Exe: exe, Program: filepath.Base(strings.TrimSuffix(exe, " (deleted)")), GoVersion: info.GoVersion, Module: info.Main.Path, Start: startedAt(start)}
	if uids, err := procfs.UIDs(pid); err == nil && len(uids) > 0 {
		p.UID = uids[0]
	}
	src, err := AttachGo(pid, GoroutineOptions{})
	if errors.Is(err, flight.ErrNoProcess) {
		return p, false
	}
	if err == nil {
		p.Goroutines, err = src.count()
		src.Close()
	}
	p.Err = err
	return p, true
}

// count counts the goroutines that are not the runtime's own.
func (s *Goroutines) count() (n int, err error) {
	all, err := s.program.addresses()
	if err != nil {
		return 0, err
	}
	r := goroutineReader{program: s.program}
	for from := 0; from < len(all); from += goroutineBatch {
		batch := all[from:min(from+goroutineBatch, len(all))]
		r.gs.size = s.program.layout.gWhole
		r.gs.plan(len(batch), func(i int) uint64 { return batch[i] })
		r.gs.read(s.program.space)
		for i := range batch {
			g := goroutine{at: batch[i]}
			if b := r.gs.before(i); b != nil {
				r.fill(&g, b)
			}
			if g.there() && !s.isRuntimes(&g) {
				n++
			}
		}
	}
	return n, nil
}
