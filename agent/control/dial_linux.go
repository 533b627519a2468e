package control

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/vtscope/vtscope/internal/procfs"
	"github.com/vtscope/vtscope/runtime/flight"
)

// dial connects to the control socket beside the flight file at path, and makes sure that the process of that file answers: another user may have prepared the
// directory. A path may be longer than an address of a socket: both are opened through a descriptor of their directory.
func dial(ctx context.Context, path string) (net.Conn, error) {
	dir, err := os.OpenFile(filepath.Dir(path), os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	within := "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/"
	socket := within + filepath.Base(flight.SocketPath(path))
	info, err := os.Lstat(socket)
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s is no socket: %w", info.Name(), errStranger)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(c.(*net.UnixConn), dir, within+filepath.Base(path)); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// checkPeer reports an error unless the process of the flight file answers, and is of this user, or of any if this one is root. The socket's name may have been
// given to another one since it was looked at, so what counts is what the kernel says of the connection.
func checkPeer(c *net.UnixConn, dir *os.File, path string) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var peerErr error
	if err := raw.Control(func(fd uintptr) {
		peer, peerErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if peerErr != nil {
		return os.NewSyscallError("getsockopt", peerErr)
	}
	if os.Geteuid() != 0 && int(peer.Uid) != os.Geteuid() {
		return fmt.Errorf("the socket is of user %d: %w", peer.Uid, fs.ErrPermission)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if owner, err := ownerOf(file); err != nil || owner != peer.Uid {
		return fmt.Errorf("user %d answers, and the flight file is of user %d: %w", peer.Uid, owner, errStranger)
	}
	r, err := flight.Open("/proc/self/fd/" + strconv.Itoa(int(file.Fd())))
	if err != nil {
		return err
	}
	defer r.Close()
	h := r.Header()
	// The caller asked for the process that the file is named after. What has the name by now may be the file of another one.
	if named := fmt.Sprintf("%d-%d", h.PID, h.StartTime); !strings.HasPrefix(filepath.Base(path), named+"-") && filepath.Base(path) != named+".flight" {
		return fmt.Errorf("the flight file %s is of process %d: %w", filepath.Base(path), h.PID, errStranger)
	}
	if peer.Pid == 0 { // of a pid namespace that is not seen from here: nobody else may have put the socket here
		info, err := dir.Stat()
		if err != nil {
			return err
		}
		if owner, err := ownerOf(dir); err != nil || owner != peer.Uid || info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("a process of another pid namespace answers, in a directory of user %d: %w", owner, errStranger)
		}
		return nil
	}
	stat, err := procfs.ReadStat(int(peer.Pid))
	if err != nil {
		return err
	}
	pid, err := procfs.OwnPID(int(peer.Pid))
	if err != nil {
		return err
	}
	if pid != h.PID || stat.Start != h.StartTime {
		return fmt.Errorf("process %d answers, and the flight file is of process %d: %w", pid, h.PID, errStranger)
	}
	return nil
}

func ownerOf(f *os.File) (uint32, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return 0, os.NewSyscallError("fstat", err)
	}
	return st.Uid, nil
}
