//go:build !linux

package sched

import "errors"

// usableCPUs returns none: carriers are not bound to CPUs here.
func usableCPUs() ([]int, error) { return nil, nil }

func bindToCPU(int) error { return errors.ErrUnsupported }
