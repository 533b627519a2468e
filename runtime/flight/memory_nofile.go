//go:build !linux

package flight

import (
	"errors"
	"os"
)

// sharedMemory does not exist here: there is no tmpfs that other processes could read.
type sharedMemory struct{ privateMemory }

func newSharedMemory(string) (*sharedMemory, string, error) {
	return nil, "", errors.New("no flight files on this system")
}

func (m *sharedMemory) adopted() {}
func (m *sharedMemory) discard() {}

func defaultDir() string { return os.Getenv("VTSCOPE_DIR") }

func noSpace(error) bool { return false }

func spaceFor(int) error { return nil }

func (r *Recorder) sweepDir() {}
