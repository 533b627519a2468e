package childtest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A variant is how a program is built: with variables of the environment, NAME=VALUE, and flags of go build.
type variant struct {
	pkg   string
	env   []string
	flags []string
	needs string // a command without which it cannot be built, and is not needed
}

// variants are the programs that tests run beside those of [plain]. make test builds all of them before
// the tests, whose time limits then bound no builds.
var variants = []variant{
	{pkg: "./fixtures/backends/servers"}, // a module of its own
	{pkg: "./fixtures/plain", flags: []string{"-ldflags=-s -w", "-trimpath"}},
	{pkg: "./fixtures/plain", flags: []string{"-buildmode=pie", "-ldflags=-linkmode=external -s -w"}, needs: "gcc"},
	{pkg: "./fixtures/parade", flags: []string{"-ldflags=-s -w"}},
	{pkg: "./fixtures/parade", flags: []string{"-trimpath"}},
	{pkg: "./fixtures/parade", flags: []string{"-ldflags=-buildid="}},
	{pkg: "./fixtures/parade", flags: []string{"-buildmode=pie"}},
	{pkg: "./fixtures/parade", flags: []string{"-buildmode=pie", "-ldflags=-s -w"}},
	{pkg: "./fixtures/parade", flags: []string{"-ldflags=-linkmode=external"}, needs: "gcc"},
	{pkg: "./fixtures/parade", flags: []string{"-ldflags=-linkmode=external -s -w"}, needs: "gcc"},
	{pkg: "./fixtures/parade", flags: []string{"-buildmode=pie", "-ldflags=-linkmode=external -s -w"}, needs: "gcc"},
	{pkg: "./fixtures/parade", env: []string{"GOARCH=amd64", "CGO_ENABLED=0"}},
	{pkg: "./fixtures/parade", env: []string{"GOARCH=arm64", "CGO_ENABLED=0"}},
	{pkg: "./fixtures/parade", env: []string{"GOARCH=amd64", "CGO_ENABLED=0"}, flags: []string{"-ldflags=-s -w"}},
	{pkg: "./fixtures/parade", env: []string{"GOARCH=arm64", "CGO_ENABLED=0"}, flags: []string{"-ldflags=-s -w"}},
}

// Build builds a package, named relative to the top of the repository, and returns the path of the
// program, which others use, too: callers copy it before they change it.
func Build(t testing.TB, pkg string, flags ...string) string {
	t.Helper()
	return BuildWith(t, nil, pkg, flags...)
}

// BuildWith is [Build] with further variables of the environment, NAME=VALUE.
func BuildWith(t testing.TB, env []string, pkg string, flags ...string) string {
	t.Helper()
	program, err := Program(env, pkg, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Program is [BuildWith] where there is no test. Each variant is one file in the folder build of the
// repository, which all test processes share. The go command links it only when it is out of date.
func Program(env []string, pkg string, flags ...string) (string, error) {
	if len(env)+len(flags) > 0 && !slices.ContainsFunc(variants, func(v variant) bool {
		return v.pkg == pkg && slices.Equal(v.env, env) && slices.Equal(v.flags, flags)
	}) {
		return "", fmt.Errorf("build %s with %q %q: no row of childtest.variants, so make test does not build it before the tests", pkg, env, flags)
	}
	top, err := top()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(top, "build", "fixtures", key(env, flags))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(dir, filepath.Base(pkg))
	built.Lock()
	defer built.Unlock()
	if built.programs[program] {
		return program, nil
	}
	unlock, err := lock(program + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	b := exec.Command("go", slices.Concat([]string{"build"}, flags, []string{"-o", program, "."})...)
	b.Dir, b.Env = filepath.Join(top, pkg), append(os.Environ(), env...) // which may be of another module
	if out, err := b.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", b, err, out)
	}
	built.programs[program] = true
	return program, nil
}

// built has the programs that this process has found up to date.
var built = struct {
	sync.Mutex
	programs map[string]bool
}{programs: map[string]bool{}}

// key names the folder of what is built alike.
func key(env, flags []string) string {
	h := fnv.New64a()
	for _, name := range []string{"CGO_ENABLED", "GOARCH", "GOFLAGS", "GOOS", "GOTOOLCHAIN"} {
		fmt.Fprintf(h, "%s=%s\n", name, os.Getenv(name))
	}
	fmt.Fprintf(h, "%q %q", env, flags)
	return fmt.Sprintf("%016x", h.Sum64())
}

// plain returns the programs of the main module that tests may run as they are.
func plain() ([]string, error) {
	top, err := top()
	if err != nil {
		return nil, err
	}
	list := exec.Command("go", "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, "./cmd/...", "./fixtures/...")
	list.Dir = top
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", list, err)
	}
	return strings.Fields(strings.ReplaceAll(string(out), module, ".")), nil
}

const module = "github.com/vtscope/vtscope"

// Top returns the folder of the main module, also for tests of the modules in it.
func Top(t testing.TB) string {
	dir, err := top()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func top() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module "+module+"\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the test does not run in the repository")
		}
	}
}
