package computetest

import (
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// On one processor, an empty loop would never let the collector in.
func TestGoPreemptsItWithoutSignals(t *testing.T) {
	if os.Getenv("COMPUTETEST_CHILD") != "" {
		var stop atomic.Bool
		done := make(chan struct{})
		go func() { Until(&stop); close(done) }()
		runtime.Gosched()
		runtime.GC()
		stop.Store(true)
		<-done
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "COMPUTETEST_CHILD=1", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	timer := time.AfterFunc(5*time.Minute, func() { child.Process.Kill() })
	defer timer.Stop()
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("the child did not end: %v\n%s", err, out)
	}
}
