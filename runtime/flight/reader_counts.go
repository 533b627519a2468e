package flight

// Counts are how often everything happened since the process began, also what was overwritten, dropped, or left out by the settings.
type Counts struct {
	Kinds [KindCount]uint64
	Parks [ReasonCount]uint64 // of Kinds, the parks by reason; those that were dropped have none. Files of version 1 have none at all
}

// Counts returns the counts of all rings together, and of what found no ring. An error that matches [ErrIncomplete] means that some are missing.
func (r *Reader) Counts() (Counts, error) {
	rings, err := r.Rings()
	return r.CountsOf(rings), err
}

// CountsOf is [Reader.Counts] of rings that were read already.
func (r *Reader) CountsOf(rings []RingRow) (c Counts) {
	r.mu.Lock()
	h := r.mu.header
	r.mu.Unlock()
	for k := range c.Kinds {
		c.Kinds[k] = *h.lostKind(Kind(k))
		for i := range rings {
			c.Kinds[k] += rings[i].Counts[k]
		}
	}
	for why := range c.Parks {
		for i := range rings {
			c.Parks[why] += rings[i].Parks[why]
		}
	}
	return c
}
