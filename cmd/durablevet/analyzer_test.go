package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

func TestFindsWhatAReplayWouldDoDifferently(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), Analyzer, "bodies", "helper")
}

// The real package, and a real program: it has nothing to complain about, unless a fault is planted there.
func TestTheFixtureIsCleanAndAPlantedFaultIsFound(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "durablevet")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	vet := func(args ...string) (string, error) {
		c := exec.Command("go", append([]string{"vet", "-vettool=" + tool}, args...)...)
		c.Dir = "../.."
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := vet("./fixtures/hop", "./runtime/durable"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	original, err := filepath.Abs("../../fixtures/hop/hop.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	const place = "\tpid(\"here\")\n"
	planted := strings.Replace(string(text), place, place+"\ta.PIDs = append(a.PIDs, os.Getpid())\n", 1)
	if planted == string(text) {
		t.Fatalf("%s has no line %q to plant a fault behind", original, place)
	}
	changed := filepath.Join(dir, "hop.go")
	if err := os.WriteFile(changed, []byte(planted), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := vet("-overlay="+list, "./fixtures/hop"); err == nil || !strings.Contains(out, "os.Getpid in a durable body") {
		t.Errorf("the planted fault was not found: %v\n%s", err, out)
	}
}
