package dump_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestAGroupNamesItsFirstThreadsThatHoldLocks(t *testing.T) {
	lock := func(i int) flight.Blocker { return flight.BlockAt(flight.BlockedByMutex, uintptr(0xc000010000+i*64)) }
	spec := flighttest.Spec{
		Stacks: []flighttest.Stack{ // two of one look
			{{Func: "example.org/shop.hold", File: "/src/hold.go", Line: 7}},
			{{Func: "example.org/shop.hold", File: "/src/hold.go", Line: 7}},
		},
		Threads: 20,
		Thread: func(i int) flighttest.Thread {
			return flighttest.Thread{Name: fmt.Sprint("holder ", i+1), Stack: 1 + i%2, State: flight.StateParked}
		},
	}
	hold := func(b flight.Blocker, name string, ids ...flight.ThreadID) {
		var all []flighttest.Holder
		for _, id := range ids {
			all = append(all, flighttest.Holder{Party: flight.PartyThread(id)})
		}
		spec.Blockers = append(spec.Blockers, flighttest.Blocker{Blocker: b, Name: name, Holders: all})
	}
	for i := range 8 { // #11 to #18 hold one each
		hold(lock(i), "", flight.ThreadID(11+i))
	}
	for i := range 4 { // and #12 five
		hold(lock(100+i), fmt.Sprint("extra ", i), 12)
	}
	hold(flight.BlockAt(flight.BlockedByRWMutex, 0xc000090000), "read twice", 5, 5)
	hold(flight.BlockAt(flight.BlockedBySemaphore, 0xc0000a0000), "no lock", 1, 2)
	s := take(t, flighttest.Write(t, spec).Path, dump.Options{})
	if len(s.Groups) != 1 || s.Groups[0].Holding != 9 {
		t.Fatalf("got %+v, want a group with 9 threads that hold locks", s.Groups)
	}
	var ids []flight.ThreadID
	for _, h := range s.Groups[0].LockHolders {
		ids = append(ids, h.ID)
	}
	if !reflect.DeepEqual(ids, []flight.ThreadID{5, 11, 12, 13, 14}) {
		t.Errorf("got %v", ids)
	}
	if h := s.Groups[0].LockHolders[0]; h.Name != "holder 5" || !reflect.DeepEqual(h.Locks, []string{`rwmutex "read twice"`}) {
		t.Errorf("got %+v", h)
	}
	var page bytes.Buffer
	if err := dump.Text(&page, s, dump.TextOptions{Width: 160}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`#5 "holder 5" holds rwmutex "read twice"` + "\n", ` and 2 more locks` + "\n", "; 4 more threads holding locks\n",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("want %q in\n%s", want, page.String())
		}
	}
	if strings.Contains(page.String(), "no lock") {
		t.Errorf("a semaphore is no lock:\n%s", page.String())
	}
}
