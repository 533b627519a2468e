//go:build !unix

package vnet

import (
	"errors"
	"net"
)

// Without pollers nothing is tried: see [polls].

func receive(int, []byte, []byte) (received, any, error) {
	return received{}, nil, errors.ErrUnsupported
}

func send(int, []byte, []byte, net.Addr) (int, int, error) { return 0, 0, errors.ErrUnsupported }
