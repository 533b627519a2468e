package jetstream

import (
	"testing"
	"time"
)

// emptyIndex is one that no server feeds.
func emptyIndex() *index {
	s := &Store{id: "we", options: Options{Lease: usualLease}}
	s.mu.owned = map[string]*tree{}
	s.index.init(s)
	return &s.index
}

func (x *index) nextWithin(t *testing.T, limit time.Duration) string {
	t.Helper()
	for end := time.Now().Add(limit); ; {
		root, wait := x.next()
		if root != "" {
			return root
		}
		if time.Now().Add(wait).After(end) {
			t.Fatalf("nothing is due for %v", wait)
		}
		time.Sleep(wait)
	}
}

// A tree was to be taken soon, since its owner was silent; then the owner gave it back, and it waits. Who looked at it too soon looks again.
func TestATreeThatWasDueTooSoonIsTakenLater(t *testing.T) {
	x := emptyIndex()
	x.know("a", 1, head{Owner: "other", Name: "other", State: runs})
	x.mu.Lock()
	x.memberOf("other").silent = deadAfter
	x.died("other")
	if x.mu.trees["a"].due == nil {
		t.Fatal("the tree of one that is dead is not due")
	}
	x.mu.Unlock()
	until := time.Now().Add(300 * time.Millisecond)
	x.know("a", 2, head{State: waits, Until: until})
	if got := x.nextWithin(t, time.Minute); got != "a" || time.Now().Before(until) {
		t.Errorf("got %q, %v before it is due", got, time.Until(until))
	}
}
