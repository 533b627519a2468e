package flight

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
)

// A BlockerRow is what the flight file says about something that somebody waits for.
type BlockerRow struct {
	Blocker   Blocker
	Name      string // given by the user
	Made      StackID
	Since     Ticks // since when somebody waits
	Capacity  uint64
	Available int64
	Waiters   uint32 // as it says itself; 0 if it does not count them
	Held      uint32 // holders in all
	Holders   [HoldersKept]Holder
	// Of a socket; not valid if there are none. Name is made of them if it has no other.
	Local, Remote netip.AddrPort
	Pollers       [2]uint16 // for reading and for writing; 0: none
}

// Known returns the holders that are named, of Held.
func (b *BlockerRow) Known() []Holder {
	n := slices.IndexFunc(b.Holders[:], func(h Holder) bool { return h.Party == 0 })
	if n < 0 {
		n = HoldersKept
	}
	return b.Holders[:n]
}

// Blockers returns what somebody waits for and has told of itself, by blocker; of what durable threads wait for the name alone. An error that matches [ErrIncomplete] means that some are missing.
// Files of before blockers were recorded have none.
func (r *Reader) Blockers() ([]BlockerRow, error) {
	var rows []BlockerRow
	err := r.scan(segmentBlocker, blockersPerSegment, blockerSize, func(b []byte) bool {
		le := binary.LittleEndian
		row := BlockerRow{
			Blocker: Blocker(le.Uint64(b[8:])), Since: Ticks(le.Uint64(b[16:])),
			Made: StackID(le.Uint32(b[28:])), Capacity: le.Uint64(b[32:]), Available: int64(le.Uint64(b[40:])),
			Held: le.Uint32(b[48:]), Waiters: le.Uint32(b[52:]),
		}
		if row.Blocker == 0 {
			return true
		}
		row.Name = r.text(TextBlocker, r.rawString(StringID(le.Uint32(b[24:]))))
		addr := func(at, port int) netip.AddrPort {
			ip := netip.AddrFrom16([16]byte(b[at:])).Unmap()
			if n := le.Uint16(b[port:]); ip != netip.IPv6Unspecified() || n != 0 {
				return netip.AddrPortFrom(ip, n)
			}
			return netip.AddrPort{}
		}
		var address string
		address, row.Local, row.Remote = r.rewriteAddresses(addr(192, 224), addr(208, 226))
		row.Pollers = [2]uint16{le.Uint16(b[228:]), le.Uint16(b[230:])}
		if row.Name == "" {
			row.Name = address
		}
		named := row.Holders[:0]
		for i := range min(int(row.Held), HoldersKept) {
			at := 64 + 16*i
			if h := (Holder{Party(le.Uint64(b[at:])), Ticks(le.Uint64(b[at+8:]))}); h.Party != 0 {
				named = append(named, h)
			}
		}
		rows = append(rows, row)
		return true
	})
	durable, err2 := r.durableBlockers()
	rows = append(rows, durable...)
	slices.SortStableFunc(rows, func(a, b BlockerRow) int { return cmp.Compare(a.Blocker, b.Blocker) })
	return rows, cmp.Or(err, err2)
}

// addressName returns what a socket is called: "127.0.0.1:80→127.0.0.1:4711", the local address first, or "" without addresses.
func addressName(local, remote netip.AddrPort) string {
	switch {
	case local.IsValid() && remote.IsValid():
		return local.String() + "→" + remote.String()
	case remote.IsValid():
		return remote.String()
	case local.IsValid():
		return local.String()
	}
	return ""
}

// A WaitRow is a goroutine that waits and is no thread.
type WaitRow struct {
	Party   Party
	State   State
	Reason  Reason
	Stack   StackID
	Blocker Blocker
	Since   Ticks
	Until   Ticks // 0: without a limit
}

// Waits returns the goroutines that wait, longest first. An error that matches [ErrIncomplete] means that some are missing. Files of before they were
// recorded have none.
func (r *Reader) Waits() ([]WaitRow, error) {
	var rows []WaitRow
	err := r.scan(segmentWait, waitsPerSegment, waitSize, func(b []byte) bool {
		le := binary.LittleEndian
		row := WaitRow{
			State: State(b[4]), Reason: Reason(b[5]), Party: Party(le.Uint64(b[8:])), Blocker: Blocker(le.Uint64(b[16:])),
			Since: Ticks(le.Uint64(b[24:])), Until: Ticks(le.Uint64(b[32:])), Stack: StackID(le.Uint32(b[40:])),
		}
		if row.Party == 0 {
			return true
		}
		if row.State >= StateCount || row.Reason >= ReasonCount || row.Party.Goroutine() == 0 {
			return false
		}
		rows = append(rows, row)
		return true
	})
	slices.SortStableFunc(rows, func(a, b WaitRow) int { return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Party, b.Party)) })
	return rows, err
}
