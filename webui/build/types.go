package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// checkTypes checks the sources with TypeScript, which comes from npm and is all that npm is needed for.
// Without npm it says so and succeeds: the bundle itself does not depend on it.
func checkTypes(root string) error {
	if _, err := exec.LookPath("npm"); err != nil {
		fmt.Fprintln(os.Stderr, "build: types are not checked: npm is not installed")
		return nil
	}
	if _, err := os.Stat(filepath.Join(root, "node_modules", "typescript")); err != nil {
		if out, err := in(root, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
			fmt.Fprintf(os.Stderr, "build: types are not checked: npm ci: %v\n%s", err, out)
			return nil
		}
	}
	if out, err := in(root, "npm", "exec", "--offline", "--", "tsc", "--noEmit"); err != nil {
		return fmt.Errorf("check the types of webui/src: %w\n%s", err, strings.TrimSpace(out))
	}
	return nil
}

func in(dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}
