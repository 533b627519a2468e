//go:build linux

package procfs

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// inode is that of the socket of a connection or listener.
func inode(t *testing.T, c interface{ File() (*os.File, error) }) string {
	t.Helper()
	f, err := c.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	var n string
	if _, err := fmt.Sscanf(link, "socket:[%s", &n); err != nil {
		t.Fatal(link, err)
	}
	return n[:len(n)-1]
}

func TestSocketsHaveTheirAddresses(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("no %s here: %v", at, err)
			continue
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all := Sockets(os.Getpid())
		if got, want := all[inode(t, l.(*net.TCPListener))], l.Addr().String(); got != want {
			t.Errorf("who listens: got %q, want %q", got, want)
		}
		if got, want := all[inode(t, c.(*net.TCPConn))], c.LocalAddr().String()+"→"+c.RemoteAddr().String(); got != want {
			t.Errorf("a connection: got %q, want %q", got, want)
		}
	}
	path := filepath.Join(t.TempDir(), "a b")
	u, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if got := Sockets(os.Getpid())[inode(t, u.(*net.UnixListener))]; got != path {
		t.Errorf("a Unix socket: got %q, want %q", got, path)
	}
}
