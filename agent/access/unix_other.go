//go:build !linux

package access

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// listenUnix makes a socket of mode 0600 in a directory of mode 0700 that belongs to this user. A directory that is not there is made; a name that is in use is
// an error.
func listenUnix(path string) (net.Listener, error) {
	if runtime.GOOS == "windows" {
		return nil, Refuse(errors.New("permissions of sockets cannot be checked here"), "a loopback address")
	}
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory, or a symbolic link")
	}
	if err == nil {
		err = ownedAlone(info, 0o077)
	}
	if err != nil {
		return nil, Refuse(fmt.Errorf("%s: %w", dir, err), "a directory of its own, which is made if it is not there")
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// unixUID knows nothing here: the modes of the socket and its directory decide.
func unixUID(net.Conn) (uid int, known bool) { return 0, false }

// tcpUID knows nothing here.
func tcpUID(net.Conn) (uid int, known, left bool) { return 0, false, false }
