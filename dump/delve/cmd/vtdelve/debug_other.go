//go:build !unix

package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
)

func socketPair() (net.Conn, *os.File, error) {
	return nil, nil, errors.New("on this system there is only: vtdump dap --connect ADDRESS, with a dlv dap --listen ADDRESS")
}

func interruptible(f *os.File) *os.File { return f }

func apart(*exec.Cmd) {}
