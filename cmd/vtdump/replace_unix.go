//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// replace has another program go on in the place of this one. It returns only if that cannot be.
func replace(path string, args []string) error {
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, args, os.Environ()))
}
