package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// deployed are the files of docs/deploy.
func deployed(t *testing.T) map[string]string {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join("..", "..", "docs", "deploy", "*"))
	texts := map[string]string{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(path)] = string(b)
	}
	if len(texts) == 0 {
		t.Fatal("no file in docs/deploy")
	}
	return texts
}

func TestCallsInFilesOfDeploymentAreUnderstood(t *testing.T) {
	list := regexp.MustCompile(`(?m)^\s*(?:CMD|command:) (\[.*\])$`)
	line := regexp.MustCompile(`(?m)^ExecStart=\S*/(vtserve .*)$`)
	for name, text := range deployed(t) {
		var calls [][]string
		for _, m := range list.FindAllStringSubmatch(text, -1) {
			var call []string
			if err := json.Unmarshal([]byte(m[1]), &call); err != nil {
				t.Fatalf("%s: %s: %v", name, m[1], err)
			}
			calls = append(calls, call)
		}
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			calls = append(calls, strings.Fields(m[1]))
		}
		if len(calls) == 0 {
			t.Errorf("%s calls nothing", name)
		}
		for _, call := range calls {
			if call[0] != "vtserve" {
				t.Errorf("%s calls %q", name, call)
			} else if _, err := parse(call[1:]); err != nil {
				t.Errorf("%s: %q: %v", name, call, err)
			}
		}
	}
}

func TestUnitsAreAcceptedBySystemd(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	program := regexp.MustCompile(`(?m)^ExecStart=\S*/vtserve `)
	for name, text := range deployed(t) {
		if !strings.HasSuffix(name, ".service") {
			continue
		}
		// It wants a program that is there, and knows %i of instances only.
		path := filepath.Join(t.TempDir(), strings.Replace(name, "vtserve.service", "vtserve@user.service", 1))
		if err := os.WriteFile(path, []byte(program.ReplaceAllString(text, "ExecStart=/bin/true ")), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(analyze, "verify", "--man=no", "--recursive-errors=no", path).CombinedOutput(); err != nil || strings.Contains(string(out), filepath.Base(path)+":") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
