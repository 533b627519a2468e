package ordeal

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// worked lets works end without a storm, and returns their ledger and journals.
func worked(t *testing.T) (*Ledger, map[string][]journal.Step) {
	l, err := NewLedger(Works(7, 6, 50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	b := &bodies{ledger: &client{address: l.Address()}, worker: "w"}
	defer b.ledger.close()
	r := durable.NewRegistry()
	if err := b.register(r); err != nil {
		t.Fatal(err)
	}
	s, err := durable.NewFileStore(dir, durable.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: s})
	if err != nil {
		t.Fatal(err)
	}
	b.fleet.Complete(Alone(k))
	if err := b.attend(); err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := journal.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	journals := map[string][]journal.Step{}
	for _, root := range f.Trees.Roots() {
		journals[root.ID] = root.Steps
	}
	return l, journals
}

// edit gives a work another result.
func (l *Ledger) edit(id string, f func(*State)) {
	var s State
	if err := json.Unmarshal([]byte(l.mu.ended[id]), &s); err != nil {
		panic(err)
	}
	f(&s)
	text, _ := json.Marshal(s)
	l.mu.ended[id] = string(text)
}

// Each thing that may be wrong is found.
func TestTheVerdictFindsWhatIsWrong(t *testing.T) {
	whole, steps := worked(t)
	if wrong, figures := whole.Verdict(steps); len(wrong) > 0 || figures.Calls == 0 {
		t.Fatalf("nothing was done to them: %v, %q", figures, wrong)
	}
	const id = "work-0"
	var key string // of a call of its own
	for k, all := range whole.mu.entries {
		if all[0].Thread == id {
			key = k
		}
	}
	call := slices.IndexFunc(steps[id], func(s journal.Step) bool { return s.Name == whole.mu.entries[key][0].Step })
	if call < 0 {
		t.Fatalf("%s has no call %s in its journal: want another seed", id, key)
	}
	for want, harm := range map[string]func(l *Ledger, steps map[string][]journal.Step){
		"has not ended":             func(l *Ledger, _ map[string][]journal.Step) { delete(l.mu.ended, id) },
		"the answer to 0":           func(l *Ledger, _ map[string][]journal.Step) { l.mu.entries[key][0].answer++ },
		"nothing of it is recorded": func(l *Ledger, _ map[string][]journal.Step) { l.mu.entries["new"] = l.mu.entries[key] },
		"came to the end with":      func(l *Ledger, _ map[string][]journal.Step) { l.mu.returns[id]++ },
		"has the sum":               func(l *Ledger, _ map[string][]journal.Step) { l.edit(id, func(s *State) { s.Sum++ }) },
		"calls of":                  func(l *Ledger, _ map[string][]journal.Step) { l.edit(id, func(s *State) { s.Seen = s.Seen[1:] }) },
		"is recorded twice": func(l *Ledger, _ map[string][]journal.Step) {
			l.edit(id, func(s *State) { s.Seen = append(s.Seen, s.Seen[0]) })
		},
		"has read": func(l *Ledger, _ map[string][]journal.Step) { l.edit(id, func(s *State) { s.Wrote[0].Chain++ }) },
		"the journal has the answer": func(_ *Ledger, steps map[string][]journal.Step) {
			steps[id][call].Value = json.RawMessage(`{"Answer":1}`)
			steps[id][call].Err = ""
		},
		"calls of the result's":       func(_ *Ledger, steps map[string][]journal.Step) { steps[id] = slices.Delete(steps[id], call, call+1) },
		"has no journal":              func(_ *Ledger, steps map[string][]journal.Step) { delete(steps, id) },
		"which has ended, has the op": func(_ *Ledger, steps map[string][]journal.Step) { steps[id][call].Open = true },
	} {
		l, copies := &Ledger{works: whole.works}, map[string][]journal.Step{}
		l.mu.entries, l.mu.ended, l.mu.returns = map[string][]entry{}, maps.Clone(whole.mu.ended), maps.Clone(whole.mu.returns)
		for k, all := range whole.mu.entries {
			l.mu.entries[k] = slices.Clone(all)
		}
		for id, all := range steps {
			copies[id] = slices.Clone(all)
		}
		harm(l, copies)
		wrong, _ := l.Verdict(copies)
		if !strings.Contains(strings.Join(wrong, "\n"), want) {
			t.Errorf("got %q, want %q", wrong, want)
		}
	}
}

// What the ledger sees when it happens.
func TestTheLedgerComplains(t *testing.T) {
	e := Effect{Thread: "work-0", Step: "s", Key: "k", Policy: AtLeastOnce, Chain: 1}
	for want, second := range map[string]func(*Effect){
		"want it at most once":  func(e *Effect) {},
		"called with the histo": func(e *Effect) { e.Chain++ },
		"the key k is that of":  func(e *Effect) { e.Step = "other" },
	} {
		l, err := NewLedger(Works(7, 2, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		first, again := e, e
		if second(&again); again == e {
			first.Policy, again.Policy = AtMostOnce, AtMostOnce
		}
		l.answer(question{Asks: asksEffect, Effect: first})
		if err := l.Complaints(); err != nil {
			t.Errorf("the first: %v", err)
		}
		l.answer(question{Asks: asksEffect, Effect: again})
		if err := l.Complaints(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	l, err := NewLedger(Works(7, 2, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	key := Effect{Thread: "work-1", Step: "s", Key: "k", Policy: ByKey}
	if a, b := l.answer(question{Asks: asksEffect, Effect: key}), l.answer(question{Asks: asksEffect, Effect: key}); a.Number != b.Number {
		t.Errorf("by key: got %d and %d", a.Number, b.Number)
	}
	once := Effect{Thread: "work-1", Step: "t", Key: "l", Policy: AtLeastOnce}
	if a, b := l.answer(question{Asks: asksEffect, Effect: once}), l.answer(question{Asks: asksEffect, Effect: once}); a.Number == b.Number {
		t.Errorf("at least once: got %d twice", a.Number)
	}
	for _, result := range []string{`{"Sum":1}`, `{"Sum":2}`} {
		l.answer(question{Asks: asksEnded, ID: "work-1", Result: json.RawMessage(result)})
	}
	if err := l.Complaints(); err == nil || !strings.Contains(err.Error(), "and before with") {
		t.Errorf("two ends: got %v", err)
	}
}
