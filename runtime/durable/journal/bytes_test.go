package journal_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// resummed makes length and sum of bytes right, so that a fuzzer comes further.
func resummed(b []byte) []byte {
	const header = 16
	if len(b) < header+sha256.Size {
		return b
	}
	b = append([]byte(nil), b...)
	n := len(b) - header - sha256.Size
	binary.BigEndian.PutUint32(b[10:], uint32(n))
	sum := sha256.Sum256(b[header : header+n])
	copy(b[header+n:], sum[:])
	return b
}

// family is a thread with a child that has ended.
func family() *journal.Image {
	return &journal.Image{
		ID: "one", Body: "b", Args: json.RawMessage(`"x"`), Forks: 1, Steps: []journal.Step{
			{Kind: journal.StepFork, Name: "b", Value: json.RawMessage("1")},
			{Kind: journal.StepPark, Name: "p", Open: true},
		},
		Inbox:    map[string][]json.RawMessage{"s": {json.RawMessage("1")}},
		Children: []journal.Image{{ID: "one/1", Body: "b", Args: json.RawMessage("2"), Steps: []journal.Step{}, Number: 1, Ended: true, Result: json.RawMessage("3")}},
	}
}

// DU-14
func FuzzBytes(f *testing.F) {
	b, err := journal.Pack(family(), nil)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := journal.Unpack(resummed(b), nil); err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(strings.Replace(string(b), `"steps":[`, `"steps":[{},{},`, 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		im, err := journal.Unpack(resummed(b), nil)
		if err != nil {
			return
		}
		again, err := journal.Pack(im, nil)
		if err != nil {
			t.Fatalf("it was taken, and cannot be packed: %v", err)
		}
		same, err := journal.Unpack(again, nil)
		if err != nil {
			t.Fatalf("it was packed, and is not taken: %v", err)
		}
		if third, err := journal.Pack(same, nil); err != nil || !bytes.Equal(third, again) {
			t.Fatalf("got %s, %v, want %s", third, err, again)
		}
	})
}

// DU-14: what no thread can have is refused, though its sum is right: whoever reads it would count to it, add to it, or wait for it.
func TestImpossibleImagesAreRefused(t *testing.T) {
	deep := family()
	for c, i := &deep.Children[0], 0; i < 100; i++ {
		c.Ended, c.Result, c.Forks = false, nil, 1
		c.Steps = []journal.Step{{Kind: journal.StepFork, Value: json.RawMessage("1")}}
		c.Children = []journal.Image{{ID: c.ID + "/1", Body: "b", Number: 1}}
		c = &c.Children[0]
	}
	for name, change := range map[string]func(im *journal.Image){
		"no id":                 func(im *journal.Image) { im.ID = "" },
		"a long id":             func(im *journal.Image) { im.ID = strings.Repeat("x", journal.MaxID+1) },
		"a long name of a body": func(im *journal.Image) { im.Body = strings.Repeat("x", journal.MaxName+1) },
		"a long name of a step": func(im *journal.Image) { im.Steps[0].Name = strings.Repeat("x", journal.MaxName+1) },
		"many forks":            func(im *journal.Image) { im.Forks = math.MaxInt },
		"many steps before":     func(im *journal.Image) { im.Since, im.Forks = math.MaxInt, math.MaxInt },
		"fewer than no steps":   func(im *journal.Image) { im.Since = -1 },
		"many attempts":         func(im *journal.Image) { im.Steps[1].Attempts = math.MaxInt },
		"fewer than none":       func(im *journal.Image) { im.Steps[1].Attempts = -1 },
		"no kind":               func(im *journal.Image) { im.Steps[0].Kind = journal.StepNone },
		"an open step between":  func(im *journal.Image) { im.Steps = append(im.Steps, im.Steps[0]) },
		"an open time":          func(im *journal.Image) { im.Steps[1].Kind = journal.StepTime },
		"a late checkpoint":     func(im *journal.Image) { im.Steps[1] = journal.Step{Kind: journal.StepCheckpoint} },
		"a child of others":     func(im *journal.Image) { im.Children[0].ID = "two/1" },
		"a child's number":      func(im *journal.Image) { im.Children[0].Number = 2 },
		"children twice":        func(im *journal.Image) { im.Forks, im.Children = 2, append(im.Children, im.Children[0]) },
		"too many generations":  func(im *journal.Image) { *im = *deep },
	} {
		im := family()
		change(im)
		b, err := journal.Pack(im, nil)
		if err != nil {
			b = nil
		}
		if _, err := journal.Unpack(b, nil); !errors.Is(err, journal.ErrDamaged) {
			t.Errorf("%s: got %v, want %v", name, err, journal.ErrDamaged)
		}
	}
}

// DU-14
func TestBytesAreOneImageAndNothingElse(t *testing.T) {
	whole, err := journal.Pack(family(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text := string(whole[16 : len(whole)-sha256.Size])
	for name, changed := range map[string]string{
		"a second image":  text + text,
		"an unknown name": strings.Replace(text, `"id"`, `"x":1,"id"`, 1),
		"a number of 400": strings.Replace(text, `"forks":1`, `"forks":1`+strings.Repeat("0", 400), 1),
		"a fraction":      strings.Replace(text, `"forks":1`, `"forks":1.5`, 1),
		"an unknown kind": strings.Replace(text, `"kind":"fork"`, `"kind":"spoon"`, 1),
		"a deep value":    strings.Replace(text, `"args":"x"`, `"args":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000), 1),
		"no text":         strings.Repeat(" ", 40),
	} {
		if changed == text {
			t.Fatalf("%s: nothing was changed in %s", name, text)
		}
		b := append(slices.Clone(whole[:16]), changed...)
		b = resummed(append(b, make([]byte, sha256.Size)...))
		if _, err := journal.Unpack(b, nil); !errors.Is(err, journal.ErrDamaged) {
			t.Errorf("%s: got %v, want %v", name, err, journal.ErrDamaged)
		}
	}
	large := slices.Clone(whole)
	binary.BigEndian.PutUint32(large[10:], math.MaxUint32)
	if _, err := journal.Unpack(large, nil); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("a length of 4 GB: got %v, want %v", err, journal.ErrTooLarge)
	}
}

// textual returns bytes that are right but for what their text says.
func textual(text string) []byte {
	whole, err := journal.Pack(family(), nil)
	if err != nil {
		panic(err)
	}
	b := append(slices.Clone(whole[:16]), text...)
	return resummed(append(b, make([]byte, sha256.Size)...))
}

// DU-14: bytes that are allowed to be as large as they are, and hold very many small things, are refused before these are made.
func TestHostileImagesAllocateNoMoreThanTheLimit(t *testing.T) {
	list := func(one string, n int) string { return "[" + strings.Repeat(one+",", n-1) + one + "]" }
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%x":[]`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	const few, many = 1 << 20, 12 << 20
	small := journal.Limits{Memory: 8 << 20}
	for name, c := range map[string]struct {
		text   string
		limits journal.Limits
	}{
		"steps":                 {`{"id":"x","body":"b","args":0,"steps":` + list("{}", few) + `}`, small},
		"steps, default limits": {`{"id":"x","body":"b","args":0,"steps":` + list("{}", many) + `}`, journal.Limits{}},
		"nulls":                 {`{"id":"x","body":"b","args":0,"steps":` + list("null", few) + `}`, small},
		"children":              {`{"id":"x","body":"b","args":0,"steps":[],"children":` + list("{}", few) + `}`, small},
		"signals":               {`{"id":"x","body":"b","args":0,"steps":[],"inbox":{"s":` + list("1", few) + `}}`, small},
		"names of signals":      {`{"id":"x","body":"b","args":0,"steps":[],"inbox":` + names(few/2) + `}`, small},
		"of a child":            {`{"id":"x","body":"b","args":0,"steps":[],"children":[{"id":"x/1","steps":` + list("{}", few) + `}]}`, small},
		"a list without an end": {`{"id":"x","body":"b","args":0,"steps":` + list("{}", few)[1:] + `}`, small},
		"text":                  {`{"id":"x","body":"b","args":"` + strings.Repeat("x", 64<<20) + `"}`, small},
	} {
		b := textual(c.text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		im, err := c.limits.Unpack(b, nil)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: got %d steps, want an error", name, len(im.Steps))
		}
		want, most := journal.ErrMemory, uint64(5*8<<20) // what they ask for is three times as much, and more
		if c.limits == (journal.Limits{}) {
			most = uint64(len(b))
		}
		if name == "a list without an end" {
			want = journal.ErrDamaged
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
		if want == journal.ErrMemory && !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: %v: want the limit in it", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > most {
			t.Errorf("%s: %d bytes of text allocated %d, want at most %d", name, len(b), got, most)
		}
	}
}

// What one side packs the other side with the same limits takes, and what it would refuse is not packed.
func TestWhatIsPackedWithinLimitsIsTakenWithin(t *testing.T) {
	packed, refused := 0, 0
	for n := range 60 {
		im := family()
		im.Steps = slices.Insert(im.Steps, 1, slices.Repeat([]journal.Step{{Kind: journal.StepTime, Value: json.RawMessage("0")}}, n)...)
		im.Inbox["s"] = slices.Repeat([]json.RawMessage{json.RawMessage("1")}, n)
		l := journal.Limits{Bytes: 1 << 20, Memory: 9 << 10}
		b, err := l.Pack(im, nil)
		if fits := l.Fits(im); (fits == nil) != (err == nil) {
			t.Errorf("%d: Fits says %v, Pack %v", n, fits, err)
		}
		switch {
		case err == nil:
			packed++
			if _, err := l.Unpack(b, nil); err != nil {
				t.Errorf("%d: packed, and then %v", n, err)
			}
		case !errors.Is(err, journal.ErrMemory):
			t.Errorf("%d: %v", n, err)
		default:
			refused++
			if b, err = journal.Pack(im, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Unpack(b, nil); !errors.Is(err, journal.ErrMemory) {
				t.Errorf("%d: refused to be packed, and then %v", n, err)
			}
		}
	}
	if packed == 0 || refused == 0 {
		t.Errorf("%d packed, %d refused", packed, refused)
	}
	large := journal.Limits{Bytes: 100}
	if _, err := large.Pack(family(), nil); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("got %v, want %v", err, journal.ErrTooLarge)
	}
	b, err := journal.Pack(family(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := large.Unpack(b, nil); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("got %v, want %v", err, journal.ErrTooLarge)
	}
	if _, err := (journal.Limits{Memory: -1}).Unpack(b, nil); err == nil {
		t.Error("a limit of -1 was taken")
	}
}

// DU-14: sealed bytes are whole, of this key, and of this header: cut anywhere, put together from two, or said to be unprotected, they are refused.
func TestSealedBytesCannotBeChanged(t *testing.T) {
	keys := func(secret string) *journal.Keys {
		k, err := journal.NewKeys([]byte(secret))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	k := keys("a secret of some length")
	seal := func() []byte {
		b, err := journal.Pack(family(), k)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	one, two := seal(), seal()
	if bytes.Equal(one[24:], two[24:]) {
		t.Error("the same text is sealed with the same nonce")
	}
	refused := func(what string, b []byte, k *journal.Keys, want error) {
		t.Helper()
		if im, err := journal.Unpack(b, k); !errors.Is(err, want) {
			t.Errorf("%s: got %v, %v, want %v", what, im, err, want)
		}
	}
	for n := range one {
		refused(fmt.Sprint("cut at ", n), one[:n], k, journal.ErrDamaged)
	}
	refused("with a tail", append(slices.Clone(one), 0), k, journal.ErrDamaged)
	refused("the nonce of another", append(slices.Clone(two[:36]), one[36:]...), k, journal.ErrDamaged)
	other := keys("another secret, just as long")
	refused("another key", one, other, journal.ErrKey)
	theirs, err := journal.Pack(family(), other)
	if err != nil {
		t.Fatal(err)
	}
	refused("our key's name on their bytes", append(append(slices.Clone(theirs[:16]), one[16:24]...), theirs[24:]...), k, journal.ErrDamaged)
	plain := slices.Clone(one)
	plain[9] = 0
	refused("said to be plain, with a key", plain, k, journal.ErrUnsigned)
	refused("said to be plain, without a key", plain, nil, journal.ErrDamaged)
	old := slices.Clone(one)
	old[8] = 2
	refused("of the next version", old, k, journal.ErrVersion)
}
