//go:build !unix

package vnet

import (
	"os"
	"syscall"
)

// Without pollers nothing is tried: see [polls].

func readFD(int, []byte) (int, error)  { return 0, syscall.EINVAL }
func writeFD(int, []byte) (int, error) { return 0, syscall.EINVAL }
func readable(int) (int, error)        { return 0, syscall.EINVAL }

func isDescriptorsExhausted(err error) bool {
	se, ok := err.(*os.SyscallError)
	return ok && se.Err == syscall.EMFILE
}
