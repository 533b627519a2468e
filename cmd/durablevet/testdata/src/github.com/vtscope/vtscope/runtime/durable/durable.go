// Package durable has the functions that the analyzer knows, for its test alone: a test of analysers cannot see other modules.
package durable

import "time"

type (
	Thread     struct{}
	Registry   struct{}
	Call       struct{}
	Keeper     struct{}
	Checkpoint struct{}
)

func (*Thread) ID() string                { return "" }
func (*Thread) Signal(string, any) error  { return nil }
func (*Keeper) Start(string) error        { return nil }
func (*Checkpoint) Save(t *Thread, s int) {}

func Start(r *Registry, name string, args any) (*Thread, error) { return nil, nil }

func Now(t *Thread) time.Time { return time.Time{} }

func Register[A, R any](r *Registry, name string, f func(t *Thread, args A) (R, error)) error {
	return nil
}

func Do[T any](t *Thread, name string, f func(Call) (T, error)) (T, error) { return f(Call{}) }

func Move(t *Thread, name string, send func(b []byte) error) error { return send(nil) }

func MoveFor(t *Thread, name string, d time.Duration, send func(b []byte) error) error {
	return send(nil)
}

func Sleep(t *Thread, name string, d time.Duration) {}
