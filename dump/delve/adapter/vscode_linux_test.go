package adapter_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/vtscope/vtscope/dump/delve/internal/steppingtest"
)

// TestTheClientOfVSCode has the client talk to the adapter that VS Code's makers test debug adapters with.
func TestTheClientOfVSCode(t *testing.T) {
	node, err := exec.LookPath("node")
	npm, missing := exec.LookPath("npm")
	if err != nil || missing != nil {
		t.Skip("there is no node, or no npm, which the client of VS Code needs")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/vscode")); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	run(npm, "ci", "--no-audit", "--no-fund", "--loglevel=error")
	t.Setenv("VTSCOPE_DIR", t.TempDir())
	file := mainFile(t)
	run(node, "session.cjs", vtdelve(t), stepping(t), file, strconv.Itoa(steppingtest.LineOf(t, file, "locks", "lock.Lock")))
}
