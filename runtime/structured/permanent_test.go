package structured_test

import (
	"context"
	"sync"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestAPermanentScopeIsOneForAllThreadsThatStandInIt(t *testing.T) {
	var scopes [8]*vthread.Scope
	var all sync.WaitGroup
	for i := range scopes {
		all.Go(func() {
			vthread.Builder{Name: "request", Scope: structured.Permanent("GET /cart")}.Run(func() { scopes[i] = vthread.Current().Scope() })
		})
	}
	all.Wait()
	for _, s := range scopes {
		if s == nil || s != scopes[0] || s.Name != "GET /cart" {
			t.Errorf("got scope %v, want one of name GET /cart for all", s)
		}
	}
	if structured.Permanent("GET /order") == scopes[0] {
		t.Error("two names have one scope")
	}
	vthread.Builder{Scope: scopes[0]}.Run(func() {
		if err := structured.Run(context.Background(), "payment", func(s *structured.Scope) error {
			s.Fork(func() error { return nil })
			return s.Join()
		}); err != nil {
			t.Error(err)
		}
	})
	if flight.Default() == nil {
		return
	}
	r, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, err := r.Scopes()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := range rows {
		if rows[i].Name == "GET /cart" {
			found++
			if rows[i].Parent != 0 || rows[i].Owner != 0 {
				t.Errorf("got parent %d and owner %d, want the root and nobody", rows[i].Parent, rows[i].Owner)
			}
		}
	}
	if found != 1 {
		t.Errorf("the flight file has %d such scopes, want 1", found)
	}
}

func TestWhoIsInNoScopeIsAlone(t *testing.T) {
	ctx := context.Background()
	if !structured.Alone(ctx) {
		t.Error("a goroutine in no scope is not alone")
	}
	s := structured.Open(ctx, "s")
	if structured.Alone(ctx) {
		t.Error("the owner of a scope is alone")
	}
	within := make(chan bool)
	go func() { within <- structured.Alone(s.Context()) }()
	if <-within {
		t.Error("a goroutine with the context of a scope is alone")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	vthread.Run("outside", func() {
		if !structured.Alone(ctx) {
			t.Error("a thread of the root scope is not alone")
		}
	})
	structured.OnOpen(func(context.Context, flight.ScopeID) {})
	defer structured.OnOpen(nil)
	if structured.Alone(ctx) {
		t.Error("who is to be told of a scope is not taken note of")
	}
}
