//go:build !linux

package otlpenv

import "github.com/vtscope/vtscope/runtime/flight"

// ofProcess knows nothing: the environment of another process is for Linux.
func ofProcess(flight.Process) (name string, attributes []Attribute, ok bool) { return "", nil, false }
