package structured_test

import (
	"context"
	"sync"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestOnOpenIsToldEachScopeAndTheContextItIsOpenedWith(t *testing.T) {
	var mu sync.Mutex
	told := map[flight.ScopeID]any{}
	structured.OnOpen(func(ctx context.Context, id flight.ScopeID) {
		mu.Lock()
		defer mu.Unlock()
		told[id] = ctx.Value(valueKey{})
	})
	defer structured.OnOpen(nil)
	both(t, func(t *testing.T) {
		mu.Lock()
		clear(told)
		mu.Unlock()
		err := structured.Run(context.WithValue(t.Context(), valueKey{}, "outer"), "outer", func(s *structured.Scope) error {
			s.Fork(func() error {
				return structured.Run(context.WithValue(vthread.Current().Context(), valueKey{}, "inner"), "inner", func(*structured.Scope) error { return nil })
			})
			return s.Join()
		})
		mu.Lock()
		defer mu.Unlock()
		seen := map[any]int{}
		for id, v := range told {
			if id == 0 {
				t.Error("told of scope 0")
			}
			seen[v]++
		}
		if err != nil || len(told) != 2 || seen["outer"] != 1 || seen["inner"] != 1 {
			t.Errorf("error %v, got %v, want two scopes, of the outer and of the inner context", err, told)
		}
	})
	structured.OnOpen(nil)
	mu.Lock()
	before := len(told)
	mu.Unlock()
	if err := structured.Run(t.Context(), "later", func(*structured.Scope) error { return nil }); err != nil || len(told) != before {
		t.Errorf("error %v; told of %d scopes more after it was taken away", err, len(told)-before)
	}
}
