package memory

import (
	"fmt"
	"os"
	"strings"

	"github.com/vtscope/vtscope/internal/procfs"
	"github.com/vtscope/vtscope/runtime/flight"
)

// BlockerName returns what a descriptor is that a goroutine waits for: of a socket its addresses, of anything
// else its path, as the process has them now. "": that is not known, or it is no descriptor.
func (s *Seen) BlockerName(b flight.Blocker) string {
	if k := b.Kind(); k != flight.BlockedByFile && k != flight.BlockedBySocket || s.of.alive == nil || !s.of.alive() {
		return ""
	}
	pid := s.of.process.PID
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, b.ID()))
	if err != nil {
		return ""
	}
	inode, ok := strings.CutPrefix(link, "socket:[")
	if !ok {
		return link
	}
	s.names.Do(func() { s.sockets = procfs.Sockets(pid) })
	return s.sockets[strings.TrimSuffix(inode, "]")]
}
