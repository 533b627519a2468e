package archtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tracked returns the files that git knows, relative to the top, without those that are deleted.
func tracked(t *testing.T) []string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root(t)
	out, err := list.Output()
	if err != nil {
		t.Skipf("not a git checkout, so there are no committed files to look at: %v", err)
	}
	var files []string
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(list.Dir, name)); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
		}
	}
	if len(files) < 20 {
		t.Fatalf("git knows %d files: this is not the repository", len(files))
	}
	return files
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// foreign finds what only makes sense where the code was written. The parts are put together here, so that
// this file does not find itself.
var foreign = regexp.MustCompile(strings.Join([]string{
	`proxy\.golang` + `\.org`, `sum\.golang` + `\.org`, `registry\.npm` + `js\.org`, `deb\.debian` + `\.org`,
	`(^|[^\w.])/work` + `/(main|shared)`, `(^|[^\w.])/root` + `/\w`, `(^|[^\w.])/home` + `/\w`, `/tmp` + `/plan`,
}, "|"))

func TestNoFileNamesARegistryOrAPathOfOneMachine(t *testing.T) {
	looked := 0
	for _, name := range tracked(t) {
		text := read(t, name)
		if bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		looked++
		if at := foreign.FindIndex(text); at != nil {
			t.Errorf("%s:%d: %q", name, 1+bytes.Count(text[:at[0]], []byte("\n")), bytes.TrimSpace(text[at[0]:at[1]]))
		}
	}
	t.Logf("looked at %d files", looked)
}

func TestForeignNamesAreFound(t *testing.T) {
	for _, text := range []string{"see /work" + "/main/x.go", "\t/root" + "/go/bin", "https://registry.npm" + "js.org/ws"} {
		if !foreign.MatchString(text) {
			t.Errorf("%q: got nothing, want it found", text)
		}
	}
	for _, text := range []string{"../shared/DESIGN.md", "/proc/PID/root/dev/shm", "internal/work/main.go"} {
		if found := foreign.FindString(text); found != "" {
			t.Errorf("%q: got %q, want nothing", text, found)
		}
	}
}

// packages returns the folders of tracked Go files that are no test data.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	for _, name := range tracked(t) {
		if strings.HasSuffix(name, ".go") && !strings.Contains(name, "testdata/") {
			files[filepath.Dir(name)] = append(files[filepath.Dir(name)], filepath.Base(name))
		}
	}
	return files
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for dir := range packages(t) {
		text, err := os.ReadFile(filepath.Join(root(t), dir, "doc.go"))
		if err != nil {
			t.Errorf("%s: no doc.go (what it is, the smallest example, Concurrency, Where to start reading)", dir)
			continue
		}
		for _, section := range []string{"\n// # Concurrency\n", "\n// # Where to start reading\n", "\n//\t"} {
			if !bytes.Contains(text, []byte(section)) {
				t.Errorf("%s/doc.go: got no %q, want one", dir, strings.TrimSpace(section))
			}
		}
	}
}

// maxLines is where STYLE.md says to split a file.
const maxLines = 600

func TestNoFileIsTooLongToRead(t *testing.T) {
	for dir, names := range packages(t) {
		for _, name := range names {
			lines := bytes.Count(read(t, filepath.Join(dir, name)), []byte("\n"))
			if lines > maxLines && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s has %d lines: is it still one idea?", filepath.Join(dir, name), lines)
			}
		}
	}
}

func TestNothingIsLeftForLater(t *testing.T) {
	marker := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	for dir, names := range packages(t) {
		for _, name := range names {
			if found := marker.Find(read(t, filepath.Join(dir, name))); found != nil {
				t.Errorf("%s: %s", filepath.Join(dir, name), found)
			}
		}
	}
}
