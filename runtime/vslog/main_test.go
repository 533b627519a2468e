package vslog_test

import (
	"testing"

	"github.com/vtscope/vtscope/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
