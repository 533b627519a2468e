package vthread_test

import (
	"context"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

type contextKey string

// wantValues checks the values a and b of the calling thread's context; "" is none.
func wantValues(t *testing.T, when, a, b string) {
	t.Helper()
	ctx := vthread.Current().Context()
	for key, want := range map[contextKey]string{"a": a, "b": b} {
		if got, _ := ctx.Value(key).(string); got != want {
			t.Errorf("%s: %s: got %q, want %q", when, key, got, want)
		}
	}
	if err := ctx.Err(); err != nil {
		t.Errorf("%s: the context has ended: %v", when, err)
	}
}

// LC-27: for makers and threads of each kind, and through threads between that have never asked for a context.
func TestAThreadHasTheValuesOfItsMakersContextWithoutTheCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), contextKey("a"), "1"))
	defer cancel()
	onEveryKind(t, func(t *testing.T, b vthread.Builder) {
		with := b
		with.Context = ctx
		for _, kind := range []vthread.Kind{vthread.Virtual, vthread.OnGoroutine, vthread.OnOSThread} {
			child := vthread.Builder{Kind: kind}
			with.Start(func() {
				wantValues(t, "a thread that was given a context", "1", "")
				child.Start(func() {
					b.Start(func() { wantValues(t, "a grandchild", "1", "") }).Join()
				}).Join()
				child.Start(func() { wantValues(t, "a child", "1", "") }).Join()
			}).Join()
		}
		b.Start(func() { wantValues(t, "a sibling", "", "") }).Join()
	})
	onEveryKind(t, func(t *testing.T, b vthread.Builder) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), contextKey("a"), "1"))
		defer cancel()
		b.Context = ctx
		b.Start(func() {
			me := vthread.Current().Context()
			cancel()
			if me.Err() == nil {
				t.Error("the end of the given context does not end the thread's")
			}
			vthread.Start(func() { wantValues(t, "a child of who was cancelled", "1", "") }).Join()
		}).Join()
	})
}

// LC-27: another context takes the place of the maker's, and is handed on in turn.
func TestAContextThatIsGivenHidesTheMakers(t *testing.T) {
	first := context.WithValue(t.Context(), contextKey("a"), "1")
	second := context.WithValue(t.Context(), contextKey("b"), "2")
	onEveryKind(t, func(t *testing.T, b vthread.Builder) {
		with := func(ctx context.Context) vthread.Builder {
			c := b
			c.Context = ctx
			return c
		}
		with(first).Start(func() {
			with(second).Start(func() {
				wantValues(t, "given", "", "2")
				b.Start(func() { wantValues(t, "a child of who was given another", "", "2") }).Join()
			}).Join()
			with(context.Background()).Start(func() {
				wantValues(t, "given nothing", "", "")
				b.Start(func() { wantValues(t, "a child of who was given nothing", "", "") }).Join()
			}).Join()
			in := b
			in.Scope = &vthread.Scope{Context: second, Ended: func(*vthread.Thread, flight.Reason) {}}
			in.Start(func() {
				wantValues(t, "in a scope", "", "2")
				b.Start(func() { wantValues(t, "a child of who is in a scope", "", "2") }).Join()
			}).Join()
		}).Join()
	})
}

// LC-27: and modes of locals make no difference.
func TestContextsAreInheritedWithAndWithoutLocals(t *testing.T) {
	handed := vthread.NewInheritableLocal[string]()
	onEveryKind(t, func(t *testing.T, b vthread.Builder) {
		with := b
		with.Context = context.WithValue(context.Background(), contextKey("a"), "1")
		with.Start(func() {
			set(t, handed, "x")
			for mode, want := range []string{vthread.InheritLocals: "x", vthread.OwnLocals: "", vthread.NoLocals: ""} {
				child := b
				child.Locals = vthread.LocalsMode(mode)
				for range 2 { // the second has what was made for the first
					child.Start(func() {
						wantValues(t, "a child", "1", "")
						wantLocal(t, handed, want, "a child")
						b.Start(func() {
							wantValues(t, "a grandchild", "1", "")
							wantLocal(t, handed, want, "a grandchild")
						}).Join()
						if handed.Set("its own") == nil { // it passes on more than it has
							b.Start(func() {
								wantValues(t, "a second grandchild", "1", "")
								wantLocal(t, handed, "its own", "a second grandchild")
							}).Join()
						}
					}).Join()
				}
			}
		}).Join()
	})
}
