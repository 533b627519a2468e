package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump/locals"
)

func TestADebugAdapterIsVtdelve(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	var errs bytes.Buffer
	call := func(args ...string) (replaced []string, code int) {
		errs.Reset()
		w := world{stdout: &bytes.Buffer{}, stderr: &errs, getenv: os.Getenv, replace: func(path string, args []string) error {
			replaced = args
			return nil
		}}
		code = run(t.Context(), append([]string{"dap"}, args...), w)
		return replaced, code
	}
	if _, code := call(); code == exitDone || !strings.Contains(errs.String(), locals.Build) {
		t.Errorf("without vtdelve: got exit %d and %q, want how to build it", code, errs.String())
	}
	path := filepath.Join(dir, locals.Command)
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	want := []string{path, "dap", "--listen=127.0.0.1:0", "--only-same-user=false"}
	if got, code := call("--listen", "127.0.0.1:0", "--only-same-user=false"); code != exitDone || !slices.Equal(got, want) {
		t.Errorf("got %q and exit %d, want %q", got, code, want)
	}
	if got, code := call("4711"); code != exitUsage || got != nil || !strings.Contains(errs.String(), "takes no target") {
		t.Errorf("with a target: got %q, exit %d and %q", got, code, errs.String())
	}
}
