package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"
)

// TestMain has the test program be Delve, as vtdelve is, where it is started so.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == delveCommand {
		os.Exit(serveDelve())
	}
	os.Exit(m.Run())
}

// converse is a session in which nothing is debugged.
func converse(t *testing.T, editor io.ReadWriteCloser) {
	t.Helper()
	r := bufio.NewReader(editor)
	for seq, command := range []string{"initialize", "threads", "disconnect"} {
		arguments := map[string]any{}
		if command == "initialize" {
			arguments = map[string]any{"adapterID": "go", "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true}
		}
		b, err := json.Marshal(map[string]any{"seq": seq + 1, "type": "request", "command": command, "arguments": arguments})
		if err == nil {
			err = dap.WriteBaseMessage(editor, b)
		}
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := dap.ReadBaseMessage(r)
			if err != nil {
				t.Fatalf("%s: %v", command, err)
			}
			var m struct {
				Type       string
				Command    string
				RequestSeq int `json:"request_seq"`
				Success    bool
				Body       struct{ ExceptionBreakpointFilters []struct{ Filter string } }
			}
			if err := json.Unmarshal(b, &m); err != nil {
				t.Fatal(err)
			}
			if m.Type != "response" {
				continue
			}
			if m.RequestSeq != seq+1 || m.Command != command {
				t.Errorf("%s: got %s", command, b)
			}
			if got := m.Body.ExceptionBreakpointFilters; command == "initialize" && (len(got) != 8 || got[2].Filter != "vtscope.start") {
				t.Errorf("got filters %+v, want Delve's and those of vtscope", got)
			}
			break
		}
	}
}

// serving runs the adapter until its session has ended, and returns the address that it prints.
func serving(t *testing.T, args ...string) (address string) {
	t.Helper()
	out, in := io.Pipe()
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() { ended <- debug(t.Context(), args, io.NopCloser(strings.NewReader("")), in, &errs) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case code := <-ended:
			if code != 0 {
				t.Errorf("exit %d: %s", code, errs.String())
			}
		case <-time.After(time.Minute):
			t.Error("it does not end with its session")
		}
	})
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "DAP server listening at: ")
	if !ok {
		t.Fatalf("got %q", line)
	}
	return address
}

func dialed(t *testing.T, network, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestAnEditorCallsOrIsCalled(t *testing.T) {
	t.Run("TCP", func(t *testing.T) {
		converse(t, dialed(t, "tcp", serving(t, "--listen=127.0.0.1:0", "--log", "--log-dest=3", "--check-go-version=false")))
	})
	t.Run("socket", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "dap")
		serving(t, "--listen", "unix:"+path)
		converse(t, dialed(t, "unix", path))
	})
	t.Run("the editor waits", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var errs bytes.Buffer
		ended := make(chan int, 1)
		go func() {
			ended <- debug(t.Context(), []string{"--client-addr", l.Addr().String()}, io.NopCloser(strings.NewReader("")), os.Stdout, &errs)
		}()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		converse(t, conn)
		if code := <-ended; code != 0 {
			t.Errorf("exit %d: %s", code, errs.String())
		}
	})
	t.Run("a Delve that is there", func(t *testing.T) {
		delve := serving(t, "--listen=127.0.0.1:0") // an adapter speaks as Delve does
		editor := filepath.Join(t.TempDir(), "dap")
		serving(t, "--listen=unix:"+editor, "--connect="+delve)
		conn := dialed(t, "unix", editor)
		b := []byte(`{"seq":1,"type":"request","command":"disconnect","arguments":{}}`)
		if err := dap.WriteBaseMessage(conn, b); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || !bytes.Contains(got, []byte(`"command":"disconnect"`)) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestWhoCallsADebugAdapterWrongIsTold(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--nope"}, 2, "flag provided but not defined: -nope"},
		{[]string{"./cmd/shop"}, 2, "what to debug is told by the editor"},
		{[]string{"--listen=a:1", "--client-addr=b:2"}, 2, "not both"},
		{[]string{"--listen=unix:/no/such/folder/dap"}, 1, "no such file or directory"},
		{[]string{"--connect=127.0.0.1:1"}, 1, "connection refused"},
	} {
		var out, errs bytes.Buffer
		code := debug(t.Context(), c.args, io.NopCloser(strings.NewReader("")), discarding{&out}, &errs)
		if code != c.code || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%q: got exit %d and %q, want %d and %q", c.args, code, errs.String(), c.code, c.want)
		}
	}
	var out, errs bytes.Buffer
	if code := debug(t.Context(), []string{"--help"}, io.NopCloser(strings.NewReader("")), discarding{&out}, &errs); code != 0 || !strings.HasPrefix(out.String(), "usage: vtdump dap") {
		t.Errorf("got exit %d and %q", code, out.String())
	}
}

type discarding struct{ io.Writer }

func (discarding) Close() error { return nil }

func TestOnlyTheSameUserIsServed(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err) // there may be no IPv6
			continue
		}
		port := l.Addr().(*net.TCPAddr).Port
		host := "127.0.0.1"
		if strings.HasPrefix(address, "[::1]") {
			host = "::1"
		}
		client := dialed(t, "tcp", net.JoinHostPort(host, fmt.Sprint(port)))
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := sameUser(conn); err != nil {
			t.Errorf("%s: %v", address, err)
		}
		client.Close()
		conn.Close()
		l.Close()
	}
	if got, want := kernelAddress(net.IPv4(127, 0, 0, 1).To4(), 8080), "0100007F:1F90"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if uid, found, err := ownerIn("/proc/net/tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9), Port: 1}); found || err != nil {
		t.Errorf("got user %d, %v, of an address that nobody has", uid, err)
	}
}
