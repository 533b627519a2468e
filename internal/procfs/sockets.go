package procfs

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Sockets returns the sockets of the network namespace of a process, by inode, as people call them: local
// address and remote one, "127.0.0.1:80→127.0.0.1:4711", a single address of one that listens or has no
// peer, or the path of a Unix socket. What cannot be read is left out.
func Sockets(pid int) map[string]string {
	all := map[string]string{}
	for _, network := range []string{"tcp", "tcp6", "udp", "udp6"} {
		lines(pid, network, func(words []string) {
			const local, remote, inode = 1, 2, 9
			if len(words) <= inode || words[inode] == "0" {
				return
			}
			from, ok := ParseAddr(words[local])
			if !ok {
				return
			}
			name := from.String()
			if to, ok := ParseAddr(words[remote]); ok && to.Port() != 0 {
				name += "→" + to.String()
			}
			all[words[inode]] = name
		})
	}
	lines(pid, "unix", func(words []string) {
		const inode, path = 6, 7
		switch {
		case len(words) > path:
			all[words[inode]] = strings.Join(words[path:], " ")
		case len(words) > inode:
			all[words[inode]] = "unix"
		}
	})
	return all
}

// lines reads a table of sockets without its head.
func lines(pid int, table string, visit func(words []string)) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, table))
	if err != nil {
		return
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan(); s.Scan(); {
		visit(strings.Fields(s.Text()))
	}
}

// ParseAddr reads an address as the kernel writes it: words in the order of bytes of this machine, and the
// port as a number.
func ParseAddr(text string) (a netip.AddrPort, ok bool) {
	ip, port, ok := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return a, false
	}
	b, err := hex.DecodeString(ip)
	if err != nil || len(b)%4 != 0 {
		return a, false
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	addr, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), ok
}
