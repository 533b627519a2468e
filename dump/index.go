package dump

// A groupIndex finds groups by key: a hash table with open addressing, since a million look-ups are most of
// the work of folding and a map takes three times as long. The zero value is empty.
type groupIndex struct {
	slots []groupSlot // a power of two, at most half in use
	used  int
	shift uint8
}

// A groupSlot holds a key and 1 + the position of its group; 0 is an empty slot.
type groupSlot struct {
	key groupKey
	at  int32
}

// slot returns the slot of a key, or the empty one where it belongs. It is valid until fill.
func (x *groupIndex) slot(k groupKey) *groupSlot {
	if len(x.slots) == 0 {
		x.grow()
	}
	mask := uint64(len(x.slots) - 1)
	for i := k.hash() >> x.shift; ; i++ {
		s := &x.slots[i&mask]
		if s.at == 0 || s.key == k {
			return s
		}
	}
}

// fill puts a key in the empty slot that slot returned for it.
func (x *groupIndex) fill(s *groupSlot, k groupKey, at int) {
	*s = groupSlot{k, int32(at) + 1}
	x.used++
	if 2*x.used >= len(x.slots) {
		x.grow()
	}
}

func (x *groupIndex) grow() {
	old := x.slots
	size := max(64, 2*len(old))
	x.slots = make([]groupSlot, size)
	x.shift = 64
	for n := size; n > 1; n /= 2 {
		x.shift--
	}
	for i := range old {
		if old[i].at != 0 {
			*x.slot(old[i].key) = old[i]
		}
	}
}

func (k groupKey) hash() uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := uint64(uint32(k.family))<<32 | uint64(k.stack)
	h = (h ^ uint64(k.state)<<8 ^ uint64(k.reason)) * odd
	return (h ^ h>>32) * odd
}
