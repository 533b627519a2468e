// Package durable has the functions that the analyzer knows, for its test alone: a test of analysers cannot see other modules.
package durable

import "time"

type (
	Thread   struct{}
	Registry struct{}
	Call     struct{}
)

func Register[A, R any](r *Registry, name string, f func(t *Thread, args A) (R, error)) error {
	return nil
}

func Do[T any](t *Thread, name string, f func(Call) (T, error)) (T, error) { return f(Call{}) }

func Sleep(t *Thread, name string, d time.Duration) {}
