package vnet

import "golang.org/x/sys/unix"

const (
	receiveFlags = unix.MSG_CMSG_CLOEXEC
	sendFlags    = unix.MSG_NOSIGNAL
)
