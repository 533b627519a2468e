package coro

import (
	"context"
	"runtime/pprof"
	"testing"
)

func TestLabelsOfAGoroutineCanBeAddedTo(t *testing.T) {
	if !SwapsLabels {
		t.Skip("the labels of a goroutine cannot be read: build tag vtscope_nolinkname")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("request", "7")))
		before := Labels()
		ctx := LabelsContext(before)
		if v, _ := pprof.Label(ctx, "request"); v != "7" {
			t.Errorf("label request of the goroutine's context: got %q, want 7", v)
		}
		pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("more", "8")))
		for key, want := range map[string]string{"request": "7", "more": "8"} {
			if v, _ := pprof.Label(LabelsContext(Labels()), key); v != want {
				t.Errorf("label %s: got %q, want %s", key, v, want)
			}
		}
		SetLabels(before)
		if Labels() != before {
			t.Error("labels are not those from before")
		}
	}()
	<-done
}
