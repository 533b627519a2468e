//go:build vtscope_nolinkname || go1.28

package coro

import "unsafe"

// SwapsLabels tells that the labels of a goroutine cannot be read here.
const SwapsLabels = false

// Labels returns nil.
func Labels() unsafe.Pointer { return nil }

// SetLabels does nothing.
func SetLabels(unsafe.Pointer) {}
