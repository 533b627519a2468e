package main

import (
	"os/exec"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

func TestFindsWhatAReplayWouldDoDifferently(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), Analyzer, "bodies", "helper")
}

// The real package, and a real program: it has nothing to complain about.
func TestTheFixtureIsClean(t *testing.T) {
	tool := t.TempDir() + "/durablevet"
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := exec.Command("go", "vet", "-vettool="+tool, "./fixtures/hop", "./runtime/durable")
	c.Dir = "../.."
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
