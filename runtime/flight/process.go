package flight

import (
	"time"
)

// Process returns what is known of the recorded process at this moment. Of one that is about to end it waits, once and for at most a quarter of a second, to learn how.
func (r *Reader) Process() Process {
	h := r.Header()
	status, pid := r.statusOf()
	p := Process{
		PID: h.PID, UID: h.UID, Program: h.Program, Exe: h.Exe, GoVersion: h.GoVersion, Start: h.Start,
		Path: r.path, Status: status, Threads: r.threadCount(),
	}
	if r.pid != 0 {
		p.PID = r.pid
	}
	if p.Status.Live() {
		p.LastSeen = time.Now()
	} else {
		last := r.lastTicks()
		p.LastSeen = r.Time(last)
		if status == StatusGone {
			p.Ending = r.ending(pid, h.StartTime, last)
		}
	}
	return p
}

// Status returns what [Reader.Process] says of the process's status, for less.
func (r *Reader) Status() Status {
	status, _ := r.statusOf()
	return status
}

// statusOf finds out whether the process lives, and its id as seen from here, 0 if that means nothing. The lock on the file answers for all pid namespaces;
// the process table knows whether it is stopped, and answers where there are no such locks.
func (r *Reader) statusOf() (status Status, pid int) {
	h := r.Header()
	if h.Ended {
		return StatusEnded, 0
	}
	alive, known := r.src.alive()
	if pid = r.pid; pid == 0 {
		r.mu.Lock()
		space := r.mu.header.PIDSpace
		r.mu.Unlock()
		self := selfIdentity()
		if space == self.pidSpace && h.BootID == self.bootID {
			pid = h.PID
		}
	}
	if known && !alive {
		return StatusGone, pid
	}
	seen := processStatus(pid, h.StartTime)
	if seen.Live() {
		r.exit.begin(pid, h.StartTime)
	}
	if known && alive && !seen.Live() {
		return StatusRunning, pid // its pid means nothing here
	}
	return seen, pid
}
