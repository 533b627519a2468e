package childtest

import (
	"os/exec"
	"strings"
	"testing"
)

// make test runs this one first, without a time limit: the tests of all packages then find their programs built.
func TestEveryProgramIsBuilt(t *testing.T) {
	pkgs, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 10 {
		t.Errorf("got the programs %v, want those of cmd and fixtures", pkgs)
	}
	for _, pkg := range pkgs {
		Build(t, pkg)
	}
	for _, v := range variants {
		if v.needs != "" {
			if _, err := exec.LookPath(v.needs); err != nil {
				t.Logf("%s %q is not built: %v", v.pkg, v.flags, err)
				continue
			}
		}
		BuildWith(t, v.env, v.pkg, v.flags...)
	}
}

func TestAVariantThatIsNotBuiltBeforeTheTestsIsAnError(t *testing.T) {
	if p, err := Program(nil, "./fixtures/storm", "-tags=unheard_of"); err == nil || !strings.Contains(err.Error(), "childtest.variants") {
		t.Errorf("got %q, %v; want an error that names the table", p, err)
	}
}
