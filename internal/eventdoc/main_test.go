package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
)

func TestThePageIsAsTheTablesSay(t *testing.T) {
	var want bytes.Buffer
	write(&want)
	got, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/events.md is stale; run go generate ./internal/eventdoc")
	}
	for _, word := range []string{flight.EventPinned.String(), flight.StateTimedParked.String(), flight.ReasonLock.String(), flight.FigureSteals.String()} {
		if !bytes.Contains(got, []byte("`"+word+"`")) {
			t.Errorf("docs/events.md: got no %q", word)
		}
	}
}
