//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
)

// replace has another program do the rest, and ends with it.
func replace(path string, args []string) error {
	cmd := exec.Command(path, args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		os.Exit(ended.ExitCode())
	}
	if err != nil {
		return err
	}
	os.Exit(0)
	return nil
}
