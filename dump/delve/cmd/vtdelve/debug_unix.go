//go:build unix

package main

import (
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketPair returns the two ends of a conversation. The second is for a child.
func socketPair() (net.Conn, *os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range pair {
		unix.CloseOnExec(fd)
	}
	file := os.NewFile(uintptr(pair[0]), "conversation")
	defer file.Close()
	theirs := os.NewFile(uintptr(pair[1]), "conversation")
	ours, err := net.FileConn(file)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// interruptible returns a file whose reads end when it is closed, if it can be waited for: a pipe or a socket.
func interruptible(f *os.File) *os.File {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return f
	}
	fd := int(f.Fd())
	if unix.SetNonblock(fd, true) != nil {
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}

// apart has a child be in a process group of its own.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
