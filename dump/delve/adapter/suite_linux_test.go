package adapter_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// through replaces how a client of Delve's tests calls the server: it calls the adapter, which calls the server.
const through = `func NewClient(addr string) *Client {
	dir, err := os.MkdirTemp("", "through")
	if err != nil {
		log.Fatal(err)
	}
	socket := filepath.Join(dir, "dap")
	cmd := exec.Command(os.Getenv("VTDELVE"), "dap", "--listen=unix:"+socket, "--connect="+addr)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		log.Fatal(err)
	}
	go func() { cmd.Wait(); os.RemoveAll(dir) }()
	for range 10000 {
		if conn, err := net.Dial("unix", socket); err == nil {
			return NewClientFromConn(conn)
		}
		time.Sleep(5 * time.Millisecond)
	}
	log.Fatal("the adapter does not listen")
	return nil
}

`

// TestDelvesOwnTestsPassThrough runs the tests of Delve's DAP server with the adapter in between. Those in testdata/differs.txt see what the adapter
// changes; all others must pass as they do without it.
func TestDelvesOwnTestsPassThrough(t *testing.T) {
	if os.Getenv("VTSCOPE_DELVE_SUITE") == "" {
		t.Skip("it takes three minutes: VTSCOPE_DELVE_SUITE=1 runs it, as make nightly does")
	}
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-delve/delve")
	from, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "delve")
	if out, err := exec.Command("cp", "-r", "--no-preserve=mode", strings.TrimSpace(string(from)), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tests := func() map[string]bool {
		cmd := exec.Command("go", "test", "-json", "-count=1", "-timeout", "20m", "./service/dap")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "VTDELVE="+vtdelve(t))
		out, _ := cmd.Output() // it fails if a test does
		failed := map[string]bool{}
		passed := 0
		for line := range bytes.Lines(out) {
			var e struct{ Action, Test string }
			if json.Unmarshal(line, &e) != nil || e.Test == "" || strings.Contains(e.Test, "/") {
				continue
			}
			switch e.Action {
			case "fail":
				failed[e.Test] = true
			case "pass":
				passed++
			}
		}
		if passed < 90 { // of 111
			t.Fatalf("only %d tests passed:\n%s", passed, out[max(0, len(out)-4000):])
		}
		t.Logf("%d tests passed, and %d failed: %v", passed, len(failed), slices.Sorted(maps.Keys(failed)))
		return failed
	}
	direct := tests()
	path := filepath.Join(dir, "service/dap/daptest/client.go")
	client, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(client), "func NewClient(addr string)")
	_, after, ok2 := strings.Cut(rest, "// NewClientFromConn")
	if !ok || !ok2 {
		t.Fatalf("%s has another form", path)
	}
	before = strings.Replace(before, `"net"`, "\"net\"\n\t\"os\"\n\t\"os/exec\"\n\t\"time\"", 1)
	if err := os.WriteFile(path, []byte(before+through+"// NewClientFromConn"+after), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/differs.txt")
	if err != nil {
		t.Fatal(err)
	}
	differs := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			differs[name] = true
		}
	}
	for name := range tests() {
		if !differs[name] && !direct[name] {
			t.Errorf("%s fails with the adapter in between, and testdata/differs.txt does not say why", name)
		}
	}
}
