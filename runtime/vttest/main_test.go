package vttest_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/vtscope/vtscope/internal/leaktest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		match := func(pattern, name string) (bool, error) { return regexp.MatchString(pattern, name) }
		testing.Main(match, childTests, nil, nil)
		return
	}
	leaktest.Main(m)
}
