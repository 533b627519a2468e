//go:build !linux

package neighbourtest

import "errors"

var errNotRoot = errors.New("only Linux has users of threads")

func become(int) error { return errNotRoot }
