package continuation_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// covered counts what traces have done.
type covered struct{ traces, suspensions, nested, refusals, panics, deepest int }

// try executes a trace in continuations and compares with the model.
func (c *covered) try(data []byte) (wrong string) {
	t := decode(data)
	model := &machine{}
	want := model.execute(t)
	m := &machine{model: model}
	got := m.execute(t)
	if got != want {
		m.fail("got %+v, want %+v", got, want)
	}
	if m.suspended != len(model.suspensions) || m.yields != model.yields || m.refused != model.refused {
		m.fail("%d suspensions seen, %d unpinned yields, %d refused, want %d, %d, %d",
			m.suspended, m.yields, m.refused, len(model.suspensions), model.yields, model.refused)
	}
	c.traces++
	c.suspensions += m.suspended
	c.refusals += m.refused
	for _, s := range model.suspensions {
		if s.level > 0 {
			c.nested++
		}
		c.deepest = max(c.deepest, len(s.stack))
	}
	if want.panicked {
		c.panics++
	}
	return strings.Join(m.wrong[:min(len(m.wrong), 3)], "\n")
}

// FZ-01, FZ-02, FZ-03: any trace comes to what a model without suspensions comes to, with the same stacks and as many suspensions.
func FuzzContinuation(f *testing.F) {
	for _, seed := range []uint64{1, 2, 3} {
		f.Add(randomTrace(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if wrong := new(covered).try(data[:min(len(data), 5000)]); wrong != "" {
			t.Error(wrong)
		}
	})
}

// rare and frequent operations of random traces; the others are as likely as 4.
var weights = map[opKind]int{opYield: 30, opPanic: 2, opPin: 1, opPinDeferred: 2, opCatch: 8, opDefer: 6, opNested: 10, opLoop: 6, opCollect: 1, opDeep: 1}

func randomTrace(seed uint64) (data []byte) {
	r := rand.New(rand.NewPCG(seed, 0))
	var kinds []byte
	for k := range opKinds {
		n, special := weights[k]
		if !special {
			n = 4
		}
		kinds = append(kinds, bytes.Repeat([]byte{byte(k)}, n)...)
	}
	var list func(depth int)
	list = func(depth int) {
		n := 1 + r.IntN(5)
		data = append(data, byte(n-1))
		for range n {
			k := kinds[r.IntN(len(kinds))]
			data = append(data, k, byte(r.Uint32()))
			if opKind(k).compound() && depth > 0 {
				list(depth - 1)
			}
		}
	}
	for range 1 + r.IntN(3) {
		list(r.IntN(maxNesting + 1))
	}
	return data
}

// FZ-01, FZ-02, FZ-03: the same of random traces. VTSCOPE_SEED repeats one.
func TestRandomTracesComeToWhatTheModelComesTo(t *testing.T) {
	seed, traces := uint64(time.Now().UnixNano()), 100
	if raceEnabled || testing.Short() {
		traces = 20
	}
	if s := os.Getenv("VTSCOPE_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed, traces = n, 1
	}
	inBothWays(t, func(t *testing.T) {
		var c covered
		for i := range traces {
			if wrong := c.try(randomTrace(seed + uint64(i))); wrong != "" {
				t.Fatalf("VTSCOPE_SEED=%d: %s", seed+uint64(i), wrong)
			}
		}
	})
}

func TestTracesShowEverything(t *testing.T) {
	var c covered
	for seed := range uint64(50) {
		if wrong := c.try(randomTrace(seed)); wrong != "" {
			t.Fatalf("VTSCOPE_SEED=%d: %s", seed, wrong)
		}
	}
	t.Logf("%+v", c)
	if c.suspensions < 500 || c.nested < 100 || c.refusals < 50 || c.panics < 5 || c.traces-c.panics < 5 || c.deepest < 50 {
		t.Errorf("the traces show too little: %+v", c)
	}
}

// The machine finds what is wrong: a continuation that loses a suspension, say.
func TestTheModelNoticesADifference(t *testing.T) {
	data := []byte{0, byte(opYield), 0, 0, byte(opYield), 0}
	if wrong := new(covered).try(data); wrong != "" {
		t.Fatal(wrong)
	}
	model := &machine{}
	model.execute(decode(data))
	if len(model.suspensions) != 2 {
		t.Fatalf("%d suspensions, want 2", len(model.suspensions))
	}
	model.suspensions[0].stack = model.suspensions[0].stack[1:]
	model.suspensions = model.suspensions[:1]
	m := &machine{model: model}
	m.execute(decode(data))
	if len(m.wrong) != 2 {
		t.Errorf("got %q, want a wrong stack and a suspension too many", m.wrong)
	}
}
