package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/evanw/esbuild/pkg/api"
)

// The tests in webui/test are TypeScript; node's own runner runs them, bundled as the page is. Each is a subtest here.
func TestUnitsOfThePage(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node is installed, which runs tests in TypeScript: apt-get install nodejs")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob(filepath.Join(root, "test", "*.test.ts"))
	if err != nil || len(sources) < 5 {
		t.Fatalf("%d files of tests, %v; want some", len(sources), err)
	}
	o := options(root)
	o.EntryPointsAdvanced, o.EntryPoints, o.Outdir = nil, sources, t.TempDir()
	o.Platform, o.Write, o.Sourcemap = api.PlatformNode, true, api.SourceMapInline
	o.OutExtension = map[string]string{".js": ".mjs"}
	o.Loader = map[string]api.Loader{".css": api.LoaderEmpty}
	if r := api.Build(o); len(r.Errors) > 0 {
		t.Fatal(errors.New(strings.Join(api.FormatMessages(r.Errors, api.FormatMessagesOptions{}), "")))
	}
	ran := 0
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".ts")
		t.Run(strings.TrimSuffix(name, ".test"), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, node, "--enable-source-maps", "--test-reporter=tap", filepath.Join(o.Outdir, name+".mjs"))
			c.Env = append(os.Environ(), "NODE_NO_WARNINGS=1")
			out, err := c.CombinedOutput()
			lines := regexp.MustCompile(`(?m)^ *(not )?ok \d+ - (.+)$`).FindAllSubmatch(out, -1)
			for _, m := range lines {
				ran++
				t.Run(string(m[2]), func(t *testing.T) {
					if len(m[1]) > 0 {
						t.Errorf("failed:\n%s", out)
					}
				})
			}
			if err != nil && !t.Failed() {
				t.Errorf("node: %v\n%s", err, out)
			}
		})
	}
	if ran < 20 {
		t.Errorf("%d tests ran, want all", ran)
	}
}
