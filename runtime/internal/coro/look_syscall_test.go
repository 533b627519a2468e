//go:build unix

package coro

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestFramesOfAGoroutineInASystemCallAreExact(t *testing.T) {
	mustSee(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	gs, done := make(chan uintptr), make(chan struct{})
	go func() {
		defer close(done)
		gs <- getg()
		nestOne(func() { syscall.Read(int(read.Fd()), make([]byte, 1)) }) // Fd makes it a blocking one
	}()
	g := <-gs
	var pcs [32]uintptr
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Microsecond) {
		n, exact := Frames(g, pcs[:])
		if got := only(names(pcs[:n]), "nest"); exact && slices.Equal(got, nest) {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("got %q, exact %v, want %q", names(pcs[:n]), exact, nest)
			break
		}
	}
	write.Close()
	<-done
}
