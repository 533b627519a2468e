package access

import (
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/neighbourtest"
)

// A request needs no answer to do harm. The kernel forgets the user of a socket that was closed, or says root.
func TestANeighbourWhoHangsUpAtOnceIsNotTakenForRoot(t *testing.T) {
	p := policy(t, Options{Listen: []string{"127.0.0.1:0"}})
	all, err := p.Listen()
	if err != nil {
		t.Fatal(err)
	}
	l := all[0]
	t.Attr("attempts", "40")
	defer l.Close()
	at := l.Addr().(*net.TCPAddr)
	for how, end := range map[string]func(fd int) error{
		"stays": func(int) error { return nil },
		"half":  func(fd int) error { return syscall.Shutdown(fd, syscall.SHUT_WR) },
		"close": syscall.Close,
		"reset": func(fd int) error {
			return errors.Join(syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1}), syscall.Close(fd))
		},
	} {
		for range 10 {
			var fd int
			neighbourtest.Do(t, func() (err error) {
				if fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err != nil {
					return err
				}
				if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}); err != nil {
					return err
				}
				_, err = syscall.Write(fd, []byte("POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"))
				return errors.Join(err, end(fd))
			})
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			who := c.(*conn).peer
			caller, refused := p.identify(httptest.NewRequest("POST", "/x", nil), who)
			c.Close()
			if how == "stays" || how == "half" {
				syscall.Close(fd)
			}
			if refused == nil {
				t.Errorf("a neighbour who does so: %s: is let in as %s %v, from %v", how, caller.Name, caller.Role, who)
				break
			}
		}
	}
}

// A neighbour's directory gives any file of root's the name of the audit.
func TestTheAuditIsAppendedToNoOtherFile(t *testing.T) {
	for how, link := range map[string]func(old, new string) error{"symbolic": os.Symlink, "hard": os.Link} {
		dir := t.TempDir()
		victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "audit")
		if err := errors.Join(os.WriteFile(victim, nil, 0o600), link(victim, path)); err != nil {
			t.Fatal(err)
		}
		if _, f, err := OpenAudit(path); err == nil {
			f.Close()
			t.Errorf("a %s link to another file is the audit", how)
		}
	}
}

func TestSecretsAndCertificatesAreWaitedForNever(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, read := range map[string]func() error{
		"tokens":      func() error { _, err := ReadTokens(pipe); return err },
		"authorities": func() error { _, err := readPool(pipe); return err },
		"certificate": func() error { _, err := (&keyPair{cert: pipe, key: pipe}).load(); return err },
	} {
		done := make(chan error, 1)
		go func() { done <- read() }()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s of a pipe: got no error", what)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: it waits for a pipe", what)
			if w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				w.Close()
			}
		}
	}
}

func TestAuthoritiesThatOthersMayChangeAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o646)); err != nil {
		t.Fatal(err)
	}
	if _, err := readPool(path); err == nil || !errors.As(err, new(*Refusal)) {
		t.Errorf("mode 0646: got %v, want a refusal", err)
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(path, 0o644), os.Chown(path, neighbourtest.UID, neighbourtest.UID)); err != nil {
			t.Fatal(err)
		}
		if _, err := readPool(path); err == nil || !errors.As(err, new(*Refusal)) {
			t.Errorf("of another user: got %v, want a refusal", err)
		}
	}
}
