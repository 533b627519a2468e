package continuation_test

import (
	"testing"

	"github.com/vtscope/vtscope/internal/leaktest"
)

func TestMain(m *testing.M) {
	// The continuation that began in package init is bound to the main OS thread; nobody can run it to its end.
	leaktest.Main(m, leaktest.Allow("github.com/vtscope/vtscope/runtime/continuation_test.init.func1"))
}
