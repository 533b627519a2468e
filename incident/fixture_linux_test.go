package incident

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// trouble starts the fixture.
func trouble(t *testing.T, kind string) (*childtest.Child, *flight.Reader) {
	t.Helper()
	child := childtest.Start(t, "./fixtures/trouble", "-kind", kind, "-exit-with-stdin")
	child.WaitFor(regexp.MustCompile(`trouble: .*; pid \d+; try: vtdump`))
	return child, child.Flight()
}

// countEvents returns how many events of a kind the bundle's recording has.
func countEvents(t *testing.T, b *Bundle, k flight.Kind) int {
	t.Helper()
	section, err := b.Events()
	if err != nil {
		t.Fatal(err)
	}
	f, err := recording.NewFile(section, section.Size())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	err = f.Read(context.Background(), func(batch *recording.Batch) bool {
		for i := range batch.Events {
			if batch.Events[i].Kind == k {
				n++
			}
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestABundleOfAProgramHasItsProfilesAndLastEvents(t *testing.T) {
	child, r := trouble(t, "pin")
	b := take(t, store(t, Options{Take: TakeOptions{CPU: 100 * time.Millisecond, Over: time.Millisecond}}), r)
	if len(b.Manifest.Missing) > 0 {
		t.Errorf("missing: %v", b.Manifest.Missing)
	}
	for _, part := range []string{"heap", "goroutine", "cpu"} {
		if text, err := b.Content(b.Part(part).Files[0]); err != nil || !bytes.HasPrefix(text, []byte("\x1f\x8b")) {
			t.Errorf("%s: got %.10q, %v; want a compressed profile", part, text, err)
		}
	}
	if n := countEvents(t, b, flight.EventMount); n == 0 {
		t.Error("no mount was recorded")
	}
	if text, err := b.Text("build"); err != nil || !strings.Contains(string(text), "fixtures/trouble") {
		t.Errorf("build: got %v and\n%s", err, text)
	}
	child.CloseStdin()
	child.WantExit(0)
}

func TestATailHasMoreThanTheRings(t *testing.T) {
	child, r := trouble(t, "mark")
	s := store(t, Options{})
	tail, err := s.NewTail(r, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s.options.Take = quick
	s.TakeEvents(tail.Events)
	child.WriteLine()
	for deadline := time.Now().Add(time.Minute); marks(t, r) < 1 && time.Now().Before(deadline); {
	}
	first := take(t, s, r)
	if n := countEvents(t, first, flight.EventMark); n != 1 {
		t.Errorf("got %d marks, want 1", n)
	}
	// It goes on, and a dead process still has its last events.
	child.WriteLine()
	for deadline := time.Now().Add(time.Minute); marks(t, r) < 2 && time.Now().Before(deadline); {
	}
	child.Signal(os.Kill)
	second := take(t, s, r)
	if n := countEvents(t, second, flight.EventMark); n < 1 {
		t.Errorf("got %d marks after the next bundle, want the new one", n)
	}
	for _, m := range second.Manifest.Missing {
		if m.Part == "events" {
			t.Error(m)
		}
	}
	if err := tail.Close(); err != nil {
		t.Error(err)
	}
	if _, err := tail.Events(context.Background(), r, new(bytes.Buffer)); err == nil {
		t.Error("a closed one has events")
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir(), tailPrefix+"*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	if _, err := s.NewTail(r, 0); err == nil {
		t.Error("a tail of nothing")
	}
}

func marks(t *testing.T, r *flight.Reader) (n uint64) {
	t.Helper()
	rings, err := r.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for i := range rings {
		n += rings[i].Counts[flight.EventMark]
	}
	return n
}
