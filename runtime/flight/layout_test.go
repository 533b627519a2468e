package flight

import (
	"encoding/binary"
	"testing"
	"unsafe"
)

// The numbers here are those of docs/flight-format.md. To change one is to change the format: then
// raise FormatVersion and keep a golden recording of the old one.
func TestLayoutMatchesTheSpecification(t *testing.T) {
	var (
		h  fileHeader
		e  segmentEntry
		g  ringHeader
		ev event
		r  Record
		c  coldRecord
		s  scopeRecord
		n  nameRecord
		st stackRecord
		sr stringRecord
		sy symbolRecord
		sf symbolFrame
		sc schedulerRecord
		ps pinSiteRecord
		rp recentRecord
		bl blockerRecord
		wr waitRecord
	)
	for _, row := range []struct {
		what      string
		got, want uintptr
	}{
		{"header size", unsafe.Sizeof(h), 1960 + 32 + 64*16 + 120 + 8 + 8},
		{"header version", unsafe.Offsetof(h.Version), 16},
		{"header headerSize", unsafe.Offsetof(h.HeaderSize), 20},
		{"header pid", unsafe.Offsetof(h.PID), 24},
		{"header uid", unsafe.Offsetof(h.UID), 28},
		{"header startTime", unsafe.Offsetof(h.StartTime), 32},
		{"header bootID", unsafe.Offsetof(h.BootID), 40},
		{"header wallStart", unsafe.Offsetof(h.WallStart), 56},
		{"header status", unsafe.Offsetof(h.Status), 64},
		{"header segments", unsafe.Offsetof(h.Segments), 68},
		{"header clockKind", unsafe.Offsetof(h.ClockKind), 72},
		{"header anchorSeq", unsafe.Offsetof(h.AnchorSeq), 76},
		{"header anchors", unsafe.Offsetof(h.Anchors), 80},
		{"header heartbeat", unsafe.Offsetof(h.Heartbeat), 128},
		{"header pidSpace", unsafe.Offsetof(h.PIDSpace), 136},
		{"header lost", unsafe.Offsetof(h.Lost), 144},
		{"header lostKinds", unsafe.Offsetof(h.LostKinds), 208},
		{"header address", unsafe.Offsetof(h.Address), 464},
		{"header goArch", unsafe.Offsetof(h.GoArch), 472},
		{"header goVersion", unsafe.Offsetof(h.GoVersion), 488},
		{"header program", unsafe.Offsetof(h.Program), 552},
		{"header exe", unsafe.Offsetof(h.Exe), 616},
		{"header lost, more", unsafe.Offsetof(h.LostMore), 1640},
		{"directory", headerPage, 4096},
		{"entry size", unsafe.Sizeof(e), 32},
		{"entry address", unsafe.Offsetof(e.Address), 8},
		{"entry size word", unsafe.Offsetof(e.Size), 16},
		{"entry kind", unsafe.Offsetof(e.Kind), 20},
		{"entry ordinal", unsafe.Offsetof(e.Ordinal), 22},
		{"entry stride", unsafe.Offsetof(e.Stride), 24},
		{"entry count", unsafe.Offsetof(e.Count), 28},
		{"ring header size", unsafe.Sizeof(g), 1024},
		{"ring size", unsafe.Offsetof(g.Size), 8},
		{"ring owner", unsafe.Offsetof(g.Owner), 12},
		{"ring counts", unsafe.Offsetof(g.Counts), 128},
		{"event size", unsafe.Sizeof(ev), 32},
		{"event word", unsafe.Offsetof(ev.Word), 8},
		{"event thread", unsafe.Offsetof(ev.Thread), 16},
		{"event arg", unsafe.Offsetof(ev.Arg), 24},
		{"record size", unsafe.Sizeof(r), 64},
		{"record word", unsafe.Offsetof(r.word), 4},
		{"record id", unsafe.Offsetof(r.id), 8},
		{"record since", unsafe.Offsetof(r.since), 16},
		{"record stack", unsafe.Offsetof(r.stack), 24},
		{"record scope", unsafe.Offsetof(r.scope), 28},
		{"record blocker", unsafe.Offsetof(r.blocker), 32},
		{"record waker", unsafe.Offsetof(r.waker), 40},
		{"record mounts", unsafe.Offsetof(r.mounts), 48},
		{"record pins", unsafe.Offsetof(r.pins), 52},
		{"record name", unsafe.Offsetof(r.name), 56},
		{"record flags", unsafe.Offsetof(r.flags), 60},
		{"cold size", unsafe.Sizeof(c), 64},
		{"cold created", unsafe.Offsetof(c.Created), 8},
		{"cold creator", unsafe.Offsetof(c.Creator), 16},
		{"cold g", unsafe.Offsetof(c.G), 24},
		{"cold cpu", unsafe.Offsetof(c.CPU), 32},
		{"cold run", unsafe.Offsetof(c.Run), 48},
		{"cold ready", unsafe.Offsetof(c.Ready), 56},
		{"totals size", unsafe.Sizeof(totalsRecord{}), totalsSize},
		{"totals stride", totalsSize, 64},
		{"user kind size", unsafe.Sizeof(userKindRecord{}), userKindSize},
		{"user kind stride", userKindSize, 256},
		{"user kind field", unsafe.Offsetof(userKindRecord{}.Field), 64},
		{"settings", unsafe.Offsetof(h.Settings), 1960},
		{"build id", unsafe.Offsetof(h.BuildID), 3016},
		{"marker", unsafe.Offsetof(h.Marker), 3136},
		{"panicked", unsafe.Offsetof(h.Panicked), 3144},
		{"setting row", unsafe.Sizeof(settingRow{}), 16},
		{"cold entry", unsafe.Offsetof(c.Entry), 40},
		{"cold offset", coldOffset, 1 << 20},
		{"scope size", unsafe.Sizeof(s), 64},
		{"scope state", unsafe.Offsetof(s.State), 4},
		{"scope id", unsafe.Offsetof(s.ID), 8},
		{"scope owner", unsafe.Offsetof(s.Owner), 16},
		{"scope opened", unsafe.Offsetof(s.Opened), 24},
		{"scope deadline", unsafe.Offsetof(s.Deadline), 32},
		{"scope parent", unsafe.Offsetof(s.Parent), 40},
		{"scope name", unsafe.Offsetof(s.Name), 44},
		{"scope policy", unsafe.Offsetof(s.Policy), 48},
		{"scope limit", unsafe.Offsetof(s.Limit), 52},
		{"scope queued", unsafe.Offsetof(s.Queued), 56},
		{"name size", unsafe.Sizeof(n), 64},
		{"name info", unsafe.Offsetof(n.Info), 4},
		{"name thread", unsafe.Offsetof(n.Thread), 8},
		{"name text", unsafe.Offsetof(n.Text), 16},
		{"stack size", unsafe.Sizeof(st), 16},
		{"string size", unsafe.Sizeof(sr), 8},
		{"symbol size", unsafe.Sizeof(sy), 16},
		{"frame size", unsafe.Sizeof(sf), 16},
		{"table header size", unsafe.Sizeof(tableHeader{}), 64},
		{"scheduler size", unsafe.Sizeof(sc), schedulerSize},
		{"scheduler state", unsafe.Offsetof(sc.State), 4},
		{"scheduler id", unsafe.Offsetof(sc.ID), 8},
		{"scheduler name", unsafe.Offsetof(sc.Name), 12},
		{"scheduler began", unsafe.Offsetof(sc.Began), 16},
		{"scheduler written", unsafe.Offsetof(sc.Written), 24},
		{"scheduler figures", unsafe.Offsetof(sc.Figures), 64},
		{"scheduler ready", unsafe.Offsetof(sc.Ready), 576},
		{"scheduler slice", unsafe.Offsetof(sc.Slice), 1088},
		{"scheduler stride", schedulerSize, 2048},
		{"schedulers of a segment", schedulersPerSegment, 32},
		{"pin site size", unsafe.Sizeof(ps), pinSiteSize},
		{"pin site reason", unsafe.Offsetof(ps.Reason), 4},
		{"pin site stack", unsafe.Offsetof(ps.Stack), 8},
		{"pin site count", unsafe.Offsetof(ps.Count), 16},
		{"pin site total", unsafe.Offsetof(ps.Total), 24},
		{"pin site longest", unsafe.Offsetof(ps.Longest), 32},
		{"pin site victims", unsafe.Offsetof(ps.Victims), 40},
		{"pin site last", unsafe.Offsetof(ps.Last), 48},
		{"pin site stride", pinSiteSize, 64},
		{"recent place size", unsafe.Sizeof(rp), recentSize},
		{"recent place what", unsafe.Offsetof(rp.What), 4},
		{"recent place stack", unsafe.Offsetof(rp.Stack), 8},
		{"recent place step", unsafe.Offsetof(rp.Step), 12},
		{"recent place last", unsafe.Offsetof(rp.Last), 16},
		{"recent place steps", unsafe.Offsetof(rp.Steps), 64},
		{"recent step size", unsafe.Sizeof(rp.Steps[0]), 64},
		{"recent step count", unsafe.Offsetof(rp.Steps[0].Count), 8},
		{"recent step name", unsafe.Offsetof(rp.Steps[0].Name), 12},
		{"recent step waiting", unsafe.Offsetof(rp.Steps[0].Waiting), 16},
		{"recent step total", unsafe.Offsetof(rp.Steps[0].Total), 24},
		{"recent step longest", unsafe.Offsetof(rp.Steps[0].Longest), 32},
		{"recent step blocker", unsafe.Offsetof(rp.Steps[0].Blocker), 40},
		{"recent step thread", unsafe.Offsetof(rp.Steps[0].Thread), 48},
		{"recent step crowd", unsafe.Offsetof(rp.Steps[0].Crowd), 56},
		{"recent place stride", recentSize, 512},
		{"recent places of a segment", recentPerSegment, 128},
		{"blocker size", unsafe.Sizeof(bl), blockerSize},
		{"blocker blocker", unsafe.Offsetof(bl.Blocker), 8},
		{"blocker since", unsafe.Offsetof(bl.Since), 16},
		{"blocker name", unsafe.Offsetof(bl.Name), 24},
		{"blocker made", unsafe.Offsetof(bl.Made), 28},
		{"blocker capacity", unsafe.Offsetof(bl.Capacity), 32},
		{"blocker available", unsafe.Offsetof(bl.Available), 40},
		{"blocker held", unsafe.Offsetof(bl.Held), 48},
		{"blocker waiters", unsafe.Offsetof(bl.Waiters), 52},
		{"blocker holders", unsafe.Offsetof(bl.Holders), 64},
		{"blocker stride", blockerSize, 256},
		{"blockers of a segment", blockersPerSegment, 1024},
		{"wait size", unsafe.Sizeof(wr), waitSize},
		{"wait word", unsafe.Offsetof(wr.Word), 4},
		{"wait party", unsafe.Offsetof(wr.Party), 8},
		{"wait blocker", unsafe.Offsetof(wr.Blocker), 16},
		{"wait since", unsafe.Offsetof(wr.Since), 24},
		{"wait until", unsafe.Offsetof(wr.Until), 32},
		{"wait stack", unsafe.Offsetof(wr.Stack), 40},
		{"wait stride", waitSize, 64},
		{"waits of a segment", waitsPerSegment, 1024},
		{"durable size", unsafe.Sizeof(durableRecord{}), durableSize},
		{"durable stride", durableSize, 256},
		{"durable thread", unsafe.Offsetof(durableRecord{}.Thread), 8},
		{"durable steps", unsafe.Offsetof(durableRecord{}.Steps), 16},
		{"durable since", unsafe.Offsetof(durableRecord{}.Since), 24},
		{"durable until", unsafe.Offsetof(durableRecord{}.Until), 32},
		{"durable body", unsafe.Offsetof(durableRecord{}.Body), 40},
		{"durable errors", unsafe.Offsetof(durableRecord{}.Errors), 44},
		{"durable lengths", unsafe.Offsetof(durableRecord{}.Lengths), 48},
		{"durable child", unsafe.Offsetof(durableRecord{}.Child), 52},
		{"durable id", unsafe.Offsetof(durableRecord{}.ID), 56},
		{"durable name", unsafe.Offsetof(durableRecord{}.Name), 176},
		{"durables of a segment", durablesPerSegment, 1024},
		{"durable totals replay", unsafe.Offsetof(durableTotalsRecord{}.Replay), 128},
		{"durable counts", durableCountSlots, 16},
		{"ring hold", unsafe.Offsetof(g.Hold), 16},
		{"greatest number of segments", maxSegments, 1920},
		{"registry header", unsafe.Offsetof(registry.Header), 24},
		{"registry entries", unsafe.Offsetof(registry.Entries), 40},
	} {
		if row.got != row.want {
			t.Errorf("%s: got %d, want %d", row.what, row.got, row.want)
		}
	}
	if n := binary.Size(h); n != int(unsafe.Sizeof(h)) {
		t.Errorf("header encodes to %d bytes, is %d: implicit padding", n, unsafe.Sizeof(h))
	}
	if n := binary.Size(e); n != int(unsafe.Sizeof(e)) {
		t.Errorf("entry encodes to %d bytes, is %d: implicit padding", n, unsafe.Sizeof(e))
	}
}

func TestRegistryLeadsFromDataToTheFile(t *testing.T) {
	newTest(t)
	if registry.Magic != [2]uint64{0x65706f6373747676, 0xf11687f11e5ca1ed} {
		t.Errorf("got magic %#x", registry.Magic)
	}
	h := registered.recorder.header
	if registry.Header != uint64(uintptr(unsafe.Pointer(h))) || h.Address != registry.Header {
		t.Errorf("got header at %#x, want %#x as in the header itself, %#x", registry.Header, unsafe.Pointer(h), h.Address)
	}
	if registry.Segments != uint64(h.Segments) || registry.Entries != registry.Header+headerPage {
		t.Errorf("got %d entries at %#x, want %d at %#x", registry.Segments, registry.Entries, h.Segments, registry.Header+headerPage)
	}
}

func TestStackKeysAreThoseOfTheSpecification(t *testing.T) {
	if got := [2]uint64(stackKeys[:2]); got != [2]uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4} {
		t.Errorf("got first keys %#x, want those of splitmix64 from 0", got)
	}
}

// Events are read where they are to be: an [Event] lies in memory as an event lies in the file.
func TestAnEventLiesInMemoryAsInTheFile(t *testing.T) {
	var b [eventSize]byte
	for i := range b {
		b[i] = byte(i*37 + 1)
	}
	if n := unsafe.Sizeof(Event{}); n != eventSize {
		t.Fatalf("an event has %d bytes, want %d", n, eventSize)
	}
	e := decodeEvent(&b)
	if raw := *(*[eventSize]byte)(unsafe.Pointer(&e)); littleEndian && raw != b {
		t.Errorf("in memory it is % x, want % x", raw, b)
	}
}
