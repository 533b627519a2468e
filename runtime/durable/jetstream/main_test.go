package jetstream_test

import (
	"os"
	"testing"

	"github.com/vtscope/vtscope/internal/leaktest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(serverDir); dir != "" {
		serveForBenchmark(dir)
		return
	}
	leaktest.Main(m)
}
