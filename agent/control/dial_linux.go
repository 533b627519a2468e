package control

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// dial connects to a socket whose path may be longer than an address of a socket: through a descriptor of its directory.
func dial(ctx context.Context, socket string) (net.Conn, error) {
	dir, err := os.OpenFile(filepath.Dir(socket), os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(int(dir.Fd()))+"/"+filepath.Base(socket))
	if err != nil {
		return nil, err
	}
	if err := checkPeer(c.(*net.UnixConn)); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// checkPeer reports an error unless who answers is of this user, or of any if this one is root.
func checkPeer(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var peer uint32
	var peerErr error
	if err := raw.Control(func(fd uintptr) { peer, peerErr = peerUID(fd) }); err != nil {
		return err
	}
	if peerErr != nil {
		return peerErr
	}
	if os.Geteuid() != 0 && int(peer) != os.Geteuid() {
		return fmt.Errorf("the socket is of user %d: %w", peer, fs.ErrPermission)
	}
	return nil
}

func peerUID(fd uintptr) (uint32, error) {
	peer, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return 0, os.NewSyscallError("getsockopt", err)
	}
	return peer.Uid, nil
}
