//go:build unix

package access

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const (
	openNonblock = syscall.O_NONBLOCK // a named pipe must not stop us
	openNoFollow = syscall.O_NOFOLLOW
)

// ownedAlone reports an error if a file is of somebody else than this user or root, or others have one of the permissions.
func ownedAlone(info fs.FileInfo, others fs.FileMode) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() && st.Uid != 0 {
		return fmt.Errorf("it belongs to user %d: %w", st.Uid, fs.ErrPermission)
	}
	if m := info.Mode().Perm(); m&others != 0 {
		return fmt.Errorf("mode %#o: others may have it", m)
	}
	return nil
}
