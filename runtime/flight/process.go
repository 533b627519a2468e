package flight

import (
	"time"
)

// Process returns what is known of the recorded process at this moment.
func (r *Reader) Process() Process {
	h := r.Header()
	p := Process{
		PID: h.PID, UID: h.UID, Program: h.Program, Exe: h.Exe, GoVersion: h.GoVersion, Start: h.Start,
		Path: r.path, Status: r.status(), Threads: r.threadCount(),
	}
	if r.pid != 0 {
		p.PID = r.pid
	}
	if p.Status.Live() {
		p.LastSeen = time.Now()
	} else {
		p.LastSeen = r.Time(r.lastTicks())
	}
	return p
}

// Status returns what [Reader.Process] says of the process's status, for less.
func (r *Reader) Status() Status { return r.status() }

// status finds out whether the process lives. The lock on the file answers for all pid namespaces;
// the process table knows whether it is stopped, and answers where there are no such locks.
func (r *Reader) status() Status {
	h := r.Header()
	if h.Ended {
		return StatusEnded
	}
	alive, known := r.src.alive()
	if known && !alive {
		return StatusKilled
	}
	pid := r.pid
	if pid == 0 {
		r.mu.Lock()
		space := r.mu.header.PIDSpace
		r.mu.Unlock()
		self := selfIdentity()
		if space == self.pidSpace && h.BootID == self.bootID {
			pid = h.PID
		}
	}
	seen := processStatus(pid, h.StartTime)
	if known && alive && !seen.Live() {
		return StatusRunning // its pid means nothing here
	}
	return seen
}
