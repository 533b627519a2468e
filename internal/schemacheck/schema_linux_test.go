package schemacheck

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const top = "../.."

func TestDocumentsAreAsTheSchemaSays(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(top, "docs", "dump.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/dev/shm", "schemacheck-")
	if err != nil {
		t.Skipf("this system has no flight files: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	bin := t.TempDir()
	for _, pkg := range []string{"./cmd/vtdump", "./fixtures/deadlock", "./fixtures/errands"} {
		build := exec.Command("go", "build", "-o", bin, pkg)
		build.Dir = top
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", pkg, err, out)
		}
	}
	child := exec.Command(filepath.Join(bin, "deadlock"))
	child.Env = append(os.Environ(), "VTSCOPE_DIR="+dir)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	pid := strconv.Itoa(child.Process.Pid)
	threads := filepath.Join(bin, "threads")
	errands := exec.Command(filepath.Join(bin, "errands"), "-dir", threads)
	errands.Env = child.Env
	ready, err := errands.StdoutPipe()
	if err == nil {
		err = errands.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errands.Process.Kill(); _ = errands.Wait() })
	if line, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		t.Fatalf("errands said %q, %v", line, err)
	}
	durable := strconv.Itoa(errands.Process.Pid)
	vtdump := func(args ...string) ([]byte, error) {
		c := exec.Command(filepath.Join(bin, "vtdump"), args...)
		c.Env = child.Env
		out, err := c.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 && len(out) > 0 {
			err = nil // it has found something
		}
		return out, err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if out, err := vtdump("waits", pid); err == nil && bytes.Contains(out, []byte("wait for each other")) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the fixture is in no deadlock after a minute")
		}
	}
	t.Run("jdk", func(t *testing.T) {
		java, err := os.ReadFile(filepath.Join(top, "dump", "jdk", "testdata", "jdk25.json"))
		if err != nil {
			t.Fatal(err)
		}
		for version, format := range map[string]string{"1": "jdk1", "2": "jdk"} {
			out, err := vtdump(pid, "--format", format)
			if err != nil {
				t.Fatal(err)
			}
			checkJDK(t, version, out)
		}
		checkJDK(t, "1", java) // so the schema is right about the JDK's own
	})
	first := filepath.Join(bin, "first.json")
	calls := [][]string{
		{pid}, {pid, "--by", "scope,state,stack"}, {pid, "--group", "1"}, {pid, "--thread", "1"}, {"scheduler", pid}, {"waits", pid}, {"findings", pid, "--growth", "100ms"},
		{"diff", first, pid}, {"check", pid, "--no-deadlock"}, {"durable", durable}, {"durable", threads, "--filter", "failed>0"}, {"durable", durable, "order-3"}, {"durable", threads, "import-1"},
		{}, {"events"}, {"events", pid, "--stats"}, {"record", pid, "--for", "50ms", "-o", filepath.Join(bin, "run.vtr")},
	}
	for i, args := range calls {
		out, err := vtdump(append(args, "--json")...)
		if err != nil || len(out) == 0 {
			t.Errorf("vtdump %s: %v, %d bytes", strings.Join(args, " "), err, len(out))
			continue
		}
		if i == 0 {
			if err := os.WriteFile(first, out, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
		if err == nil {
			err = schema.Validate(document)
		}
		if err != nil {
			t.Errorf("vtdump %s: %v", strings.Join(args, " "), err)
		}
		if m, ok := document.(map[string]any); ok { // and the check can fail
			delete(m, "format")
			if schema.Validate(document) == nil {
				t.Errorf("vtdump %s: a document without a format is valid", strings.Join(args, " "))
			}
		}
	}
}

// checkJDK validates a thread dump against the JSON Schema of what the JDK documents of a version.
func checkJDK(t *testing.T, version string, dump []byte) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", "jdk"+version+".schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	read := func() any {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(dump))
		if err != nil {
			t.Fatal(err)
		}
		return document
	}
	if err := schema.Validate(read()); err != nil {
		t.Errorf("version %s: %v", version, err)
	}
	// The check can fail, in each of the three levels.
	for name, spoil := range map[string]func(dump, container, thread map[string]any){
		"no time":        func(dump, _, _ map[string]any) { delete(dump, "time") },
		"an odd version": func(dump, _, _ map[string]any) { dump["formatVersion"] = "3" },
		"no parent":      func(_, container, _ map[string]any) { delete(container, "parent") },
		"another state":  func(_, _, thread map[string]any) { thread["state"] = "PARKED" },
		"no stack":       func(_, _, thread map[string]any) { delete(thread, "stack") },
		"a new member":   func(_, _, thread map[string]any) { thread["wait_ns"] = 1 },
	} {
		document := read()
		dump := document.(map[string]any)["threadDump"].(map[string]any)
		for _, c := range dump["threadContainers"].([]any) {
			if threads := c.(map[string]any)["threads"].([]any); len(threads) > 0 {
				spoil(dump, c.(map[string]any), threads[0].(map[string]any))
				break
			}
		}
		if schema.Validate(document) == nil {
			t.Errorf("version %s: a dump with %s is valid", version, name)
		}
	}
}
