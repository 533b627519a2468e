package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// A library is a package from npm whose few needed files are committed under webui/vendor.
type library struct {
	name    string
	version string // as in package.json; checked against node_modules when that is there
	licence string
	files   []string // the first is its licence
}

var libraries = []library{
	{"preact", "11.2.0", "MIT", []string{"LICENSE", "dist/preact.mjs", "hooks/dist/hooks.mjs", "jsx-runtime/dist/jsxRuntime.mjs"}},
	{"uplot", "1.6.32", "MIT", []string{"LICENSE", "dist/uPlot.esm.js", "dist/uPlot.min.css"}},
}

// copyLibraries refreshes webui/vendor from webui/node_modules.
func copyLibraries(root string) error {
	return eachFile(func(name, file string) error {
		data, err := os.ReadFile(installed(root, name, file))
		if err != nil {
			return fmt.Errorf("%w\n    try: npm ci in webui", err)
		}
		to := vendored(root, name, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
}

// compareLibraries says where webui/vendor is not what npm installed. Where npm has installed
// nothing there is nothing to compare with.
func compareLibraries(root string) error {
	if _, err := os.Stat(filepath.Join(root, "node_modules")); err != nil {
		return nil
	}
	return eachFile(func(name, file string) error {
		want, err := os.ReadFile(installed(root, name, file))
		if err != nil {
			return nil
		}
		got, err := os.ReadFile(vendored(root, name, file))
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("webui/vendor/%s/%s differs from the installed package\n    try: npm ci in webui, then go run -C webui/build . -vendor", name, file)
		}
		return nil
	})
}

// licences returns the text that the page shows under "licences".
func licences(root string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("The page of vtscope contains these libraries.\n")
	for _, l := range libraries {
		text, err := os.ReadFile(vendored(root, l.name, l.files[0]))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n== %s %s (%s)\n\n%s\n", l.name, l.version, l.licence, bytes.TrimSpace(text))
	}
	return b.Bytes(), nil
}

func eachFile(do func(name, file string) error) error {
	for _, l := range libraries {
		for _, file := range l.files {
			if err := do(l.name, file); err != nil {
				return err
			}
		}
	}
	return nil
}

func installed(root, name, file string) string {
	return filepath.Join(root, "node_modules", name, filepath.FromSlash(file))
}

func vendored(root, name, file string) string {
	return filepath.Join(root, "vendor", name, filepath.FromSlash(file))
}
