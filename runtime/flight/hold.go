package flight

// Hold records that the thread mounted on the ring's carrier blocks in an operation of Go's own, so that the thread itself cannot
// record it. It stays until [Ring.Unhold]. Unlike the ring's other methods it belongs to one observer, the
// scheduler's watchdog, and not to the ring's owner.
func (g *Ring) Hold(thread ThreadID, since Ticks, why Reason, stack StackID) {
	if g == nil {
		return
	}
	h := &g.hdr.Hold
	v := beginWrite(&h.Ver)
	put32(&h.Word, uint32(why))
	put64(&h.Thread, uint64(thread))
	put64(&h.Since, uint64(since))
	put64(&h.Stack, uint64(stack))
	put64(&g.hdr.Seen, 0)
	endWrite(&h.Ver, v)
}

// StillHeld records that what [Ring.Hold] recorded was found to be so again: the thread blocks in the same place. The same observer calls it.
func (g *Ring) StillHeld(at Ticks) {
	if g != nil {
		put64(&g.hdr.Seen, uint64(at))
	}
}

// Unhold takes back what [Ring.Hold] recorded.
func (g *Ring) Unhold() {
	if g != nil {
		g.Hold(0, 0, ReasonNone, 0)
	}
}

// StackOf interns a stack that was read from another goroutine: program counters as return addresses, innermost first. It
// ends where those of [Recorder.Stack] end. Frames beyond 64 are cut off.
func (r *Recorder) StackOf(pcs []uintptr) StackID {
	if r == nil {
		return 0
	}
	var words [maxStackDepth]uint64
	n, truncated := 0, false
	for _, pc := range pcs {
		if isStackEnd(uint64(pc)) {
			break
		}
		if n == maxStackDepth {
			truncated = true
			break
		}
		words[n] = uint64(pc)
		n++
	}
	if n == 0 {
		return 0
	}
	h := hashPCs(words[:n], truncated, 0)
	if id := r.stacks.lookup(h); id != 0 {
		return id
	}
	id := r.reserveStack(n)
	if id == 0 {
		return 0
	}
	copy(r.stacks.at(uint64(id)).pcs()[:n], words[:n])
	var flags uint64
	if truncated {
		flags = stackTruncated
	}
	return r.publishStack(id, h, n, flags, 0)
}

// G returns the address of the runtime.g that [Record.Goroutine] noted, for whoever looks at a thread from the same process.
func (rec *Record) G() uintptr {
	if rec == nil {
		return 0
	}
	return uintptr(get64(&rec.cold().G))
}
