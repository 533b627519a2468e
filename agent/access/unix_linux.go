package access

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/vtscope/vtscope/internal/procfs"
)

// listenUnix makes a socket of mode 0600 in a directory of mode 0700 that belongs to this user. A directory that is not there is made. What has the name already
// goes if it is a socket that nobody listens on.
//
// The directory is opened once, and all is done by its descriptor: what somebody puts in its place meanwhile is not looked at.
func listenUnix(path string) (net.Listener, error) {
	dir, base := filepath.Split(filepath.Clean(path))
	if dir == "" {
		dir = "."
	}
	dir = filepath.Clean(dir)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) {
			return nil, Refuse(fmt.Errorf("%s: not a directory, or a symbolic link", dir), "the path of the directory itself")
		}
		return nil, err
	}
	info, err := d.Stat()
	if err == nil {
		err = ownedAlone(info, 0o077)
	}
	if err != nil {
		d.Close()
		return nil, Refuse(fmt.Errorf("%s: %w", dir, err), "a directory of its own, which is made if it is not there, or chmod 700 "+dir)
	}
	at := "/proc/self/fd/" + strconv.Itoa(int(d.Fd())) + "/" + base
	if err := clearSocket(at, path); err != nil {
		d.Close()
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		d.Close()
		var no syscall.Errno
		if errors.As(err, &no) {
			err = no
		}
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(at, 0o600); err != nil {
		l.Close()
		d.Close()
		return nil, err
	}
	own, err := os.Lstat(at)
	if err != nil {
		l.Close()
		d.Close()
		return nil, err
	}
	return &unixListener{l, d, at, path, own}, nil
}

// clearSocket removes a socket that nobody listens on.
func clearSocket(at, path string) error {
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != os.ModeSocket:
		return Refuse(fmt.Errorf("there is something else than a socket: %v", info.Mode().Type()), "another path, or remove "+path)
	}
	c, err := net.Dial("unix", at)
	if err == nil {
		c.Close()
		return Refuse(syscall.EADDRINUSE, "another path, or end what listens there")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(at)
}

// A unixListener removes its socket at the end, if it is still that.
type unixListener struct {
	*net.UnixListener
	dir  *os.File
	at   string
	path string
	own  os.FileInfo
}

func (l *unixListener) Addr() net.Addr { return unixAddr(l.path) }

func (l *unixListener) Close() error {
	err := l.UnixListener.Close()
	if now, stat := os.Lstat(l.at); stat == nil && os.SameFile(now, l.own) {
		err = errors.Join(err, os.Remove(l.at))
	}
	l.dir.Close()
	return err
}

// unixUID returns the user at the other end of a Unix socket.
func unixUID(c net.Conn) (uid int, known bool) {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) {
		if cred, e := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); e == nil {
			uid, known = int(cred.Uid), true
		}
	})
	return uid, known && err == nil
}

// tcpUID returns the user at the other end of a connection over loopback, as the kernel's table of sockets has it. left is true if that end was closed before: then the
// table has no row of it, or one that says root.
func tcpUID(c net.Conn) (uid int, known, left bool) {
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	remote, err2 := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil || err2 != nil {
		return 0, false, false
	}
	for range tableReads {
		for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
			if uid, found, err := uidIn(table, remote, local); found {
				return uid, true, false
			} else if err == nil {
				left = true
			}
		}
	}
	return 0, false, left
}

// tableReads is how often the tables are read before a socket counts as closed: one that is there can be passed over while others come and go.
const tableReads = 3

// uidIn looks for the socket of which the address of here is local: that of the other end. A row without an inode is the remains of a socket: its user is unknown.
func uidIn(table string, local, remote netip.AddrPort) (uid int, found bool, err error) {
	f, err := os.Open(table)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 10 || words[9] == "0" || !sameAddr(words[1], local) || !sameAddr(words[2], remote) {
			continue
		}
		uid, err := strconv.Atoi(words[7])
		return uid, err == nil, err
	}
	return 0, false, lines.Err()
}

// sameAddr compares an address as the kernel writes it with another.
func sameAddr(text string, a netip.AddrPort) bool {
	b, ok := procfs.ParseAddr(text)
	return ok && b.Port() == a.Port() && b.Addr() == a.Addr().Unmap()
}
