//go:build !linux

package flight

import "fmt"

const (
	openNonblock = 0
	openNoFollow = 0
)

func (s fileSource) alive() (alive, known bool) { return false, false }

func processStatus(int, uint64) Status { return StatusUnknown }

// List returns nothing here: flight files exist on Linux only.
func List(dirs ...string) ([]Process, []error) { return nil, nil }

// OpenPID returns an error that matches [ErrNotVtscope] here: flight files exist on Linux only. A
// file that was copied can be read with [Open].
func OpenPID(pid int) (*Reader, error) {
	return nil, fmt.Errorf("flight: open process %d: no flight files on this system: %w", pid, ErrNotVtscope)
}
