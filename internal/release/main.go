package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A target is a system that there is an archive for.
type target struct{ os, arch string }

// targets are all of them. Only on Linux a process can be read from outside; elsewhere the commands read files and other agents.
var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

// A command is a program of a release.
type command struct {
	name   string
	module string // its folder
	manual bool   // it prints its own
	only   string // the system that it is for; "": all
}

var commands = []command{{"vtdump", ".", true, ""}, {"vtserve", ".", true, ""}, {"vtdelve", "dump/delve", false, "linux"}}

func main() {
	root, out := flag.String("root", ".", "the `directory` of the main module, a git checkout"), flag.String("o", "release", "the `directory` to write to; what is there is removed")
	twice := flag.Bool("twice", false, "build everything a second time, with another cache, and compare")
	flag.Parse()
	if err := run(*root, *out, *twice); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

func run(root, out string, twice bool) error {
	r, err := newRelease(root, out)
	if err != nil {
		return err
	}
	if err := r.all(""); err != nil {
		return err
	}
	if twice {
		again, err := os.MkdirTemp("", "vtscope-release-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(again)
		second := *r
		second.out = filepath.Join(again, "out")
		if err := second.all(filepath.Join(again, "cache")); err != nil {
			return err
		}
		if err := same(filepath.Join(r.out, sums), filepath.Join(second.out, sums)); err != nil {
			return err
		}
		fmt.Println("built twice: the same bytes")
	}
	text, err := os.ReadFile(filepath.Join(r.out, sums))
	fmt.Print(string(text))
	return err
}

// A release is what all archives have in common.
type release struct {
	root, out string
	version   string    // without v
	commit    string    // whole
	at        time.Time // of the commit
}

// sums is the file of checksums.
const sums = "SHA256SUMS"

func newRelease(root, out string) (*release, error) {
	git := func(args ...string) (string, error) {
		text, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(text)), err
	}
	changed, err := git("status", "--porcelain")
	if err != nil {
		return nil, fmt.Errorf("%s is no git checkout: %w", root, err)
	}
	if changed != "" {
		return nil, errors.New("the checkout has changes that are not committed: a release is of a commit")
	}
	r := &release{root: root, out: out}
	if r.commit, err = git("rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	seconds, err := git("log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	r.at = time.Unix(n, 0).UTC()
	if tag, err := git("describe", "--tags", "--exact-match", "--match", "v*"); err == nil {
		r.version = strings.TrimPrefix(tag, "v")
	} else {
		r.version = "0.0.0-" + r.at.Format("20060102150405") + "-" + r.commit[:12]
	}
	return r, nil
}

// all makes all files. cache is Go's build cache; "": the usual one.
func (r *release) all(cache string) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	manuals, err := r.manuals()
	if err != nil {
		return err
	}
	for _, t := range targets {
		if err := r.one(t, cache, manuals); err != nil {
			return fmt.Errorf("%s/%s: %w", t.os, t.arch, err)
		}
	}
	return r.sum()
}

// manuals are the pages, by name.
func (r *release) manuals() ([]file, error) {
	var all []file
	for _, c := range commands {
		if !c.manual {
			continue
		}
		cmd := exec.Command("go", "run", "./cmd/"+c.name, "manual")
		cmd.Dir = filepath.Join(r.root, c.module)
		text, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("the manual of %s: %w", c.name, err)
		}
		all = append(all, file{"man/man1/" + c.name + ".1", 0o644, text})
	}
	return all, nil
}

// one makes the archive of a system, and its bill of materials.
func (r *release) one(t target, cache string, manuals []file) error {
	dir, err := os.MkdirTemp("", "vtscope-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ending := ""
	if t.os == "windows" {
		ending = ".exe"
	}
	files := slices.Clone(manuals)
	var parts []program
	for _, c := range commands {
		if c.only != "" && c.only != t.os {
			continue
		}
		path := filepath.Join(dir, c.name+ending)
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", path, "./cmd/"+c.name)
		cmd.Dir = filepath.Join(r.root, c.module)
		cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
		if cache != "" {
			cmd.Env = append(cmd.Env, "GOCACHE="+cache)
		}
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, text)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := buildinfo.Read(bytes.NewReader(text))
		if err != nil {
			return err
		}
		parts = append(parts, program{c.name, sha256.Sum256(text), info})
		files = append(files, file{c.name + ending, 0o755, text})
	}
	beside := []string{"LICENSE", "README.md", "CHANGELOG.md"}
	if t.os == "linux" {
		beside = append(beside, "dump/delve/vtscope.star")
	}
	for _, name := range beside {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		files = append(files, file{filepath.Base(name), 0o644, text})
	}
	base := fmt.Sprintf("vtscope-%s-%s-%s", r.version, t.os, t.arch)
	archive, as := tarball, ".tar.gz"
	if t.os == "windows" {
		archive, as = zipped, ".zip"
	}
	text, err := archive(base, r.at, files)
	if err != nil {
		return err
	}
	bill, err := billOf(base, r, parts)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(r.out, base+as), text, 0o644), os.WriteFile(filepath.Join(r.out, base+".spdx.json"), bill, 0o644))
}

// sum writes the checksums of all files, as sha256sum -c reads them.
func (r *release) sum() error {
	entries, err := os.ReadDir(r.out) // by name
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(text), e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, sums), []byte(b.String()), 0o644)
}

// same returns an error if two files differ.
func same(one, two string) error {
	a, err := os.ReadFile(one)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(two)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("built twice, these differ:\n%s\n%s", a, b)
	}
	return nil
}
