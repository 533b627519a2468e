package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump/locals"
)

func TestAProblemIsAnAnswerToo(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"--core=" + t.TempDir(), "--exe=nothing", "--g=1"}, &out, &errs); code != 1 || errs.Len() > 0 {
		t.Errorf("got exit %d and %q", code, errs.String())
	}
	if a, err := locals.Read(&out); err == nil || !strings.Contains(err.Error(), "open core file") {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestWhoCallsItWrongIsToldWhoCallsIt(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"4711"}, &out, &errs); code != 2 || out.Len() > 0 || !strings.Contains(errs.String(), "vtdump PID --thread ID --locals") {
		t.Errorf("got exit %d, %q and %q", code, out.String(), errs.String())
	}
}
