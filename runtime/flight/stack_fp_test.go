//go:build amd64 || arm64

package flight

import "testing"

func TestDeepStacksAreCutAndMarked(t *testing.T) {
	r := newTest(t)
	var id, deeper StackID
	deep(200, func() { id = r.Stack(0) })
	deep(201, func() { deeper = r.Stack(0) })
	s := waitStack(t, r, id)
	if !s.Truncated || len(s.PCs) != maxStackDepth {
		t.Errorf("got %d frames, truncated %v; want %d, true", len(s.PCs), s.Truncated, maxStackDepth)
	}
	if s := waitStack(t, r, deeper); !s.Truncated {
		t.Error("the deeper stack is not marked")
	}
	// Exactly as deep as the limit is not cut.
	var n int
	deep(0, func() { _, n = hashFrames(maxStackDepth) })
	deep(maxStackDepth-n-1, func() { id = r.Stack(0) })
	if s := waitStack(t, r, id); s.Truncated || len(s.PCs) < maxStackDepth-2 {
		t.Errorf("got %d frames, truncated %v; want close to %d, false", len(s.PCs), s.Truncated, maxStackDepth)
	}
}
