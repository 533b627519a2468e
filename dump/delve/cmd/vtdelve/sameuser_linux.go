package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// sameUser returns an error unless the other end of a TCP connection of this machine is a socket of the user that runs this.
func sameUser(conn net.Conn) error {
	remote, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return nil
	}
	if !remote.IP.IsLoopback() {
		return errors.New("it is of another machine")
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		uid, found, err := ownerIn(table, remote)
		switch {
		case err != nil && !os.IsNotExist(err):
			return err
		case found && (uid == os.Getuid() || uid == 0):
			return nil
		case found:
			return fmt.Errorf("it is of user %d", uid)
		}
	}
	return errors.New("whose it is cannot be told")
}

// ownerIn searches a table of the kernel's for the user of the socket that has an address.
func ownerIn(table string, local *net.TCPAddr) (uid int, found bool, err error) {
	f, err := os.Open(table)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	ip := local.IP.To4()
	addresses := []string{kernelAddress(local.IP.To16(), local.Port)}
	if ip != nil {
		addresses = append(addresses, kernelAddress(ip, local.Port))
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		const localAddress, owner = 1, 7
		if len(fields) > owner && slices.Contains(addresses, fields[localAddress]) {
			uid, err := strconv.Atoi(fields[owner])
			return uid, err == nil, err
		}
	}
	return 0, false, nil
}

// kernelAddress writes an address as the kernel does: words of four bytes, the last first.
func kernelAddress(ip net.IP, port int) string {
	b := slices.Clone(ip)
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	return fmt.Sprintf("%s:%04X", strings.ToUpper(hex.EncodeToString(b)), port)
}
