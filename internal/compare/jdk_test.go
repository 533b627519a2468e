package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// install makes a folder look like a JDK.
func install(t *testing.T, home, version string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"bin/javac": "", "release": "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func TestTheJDKIsThatOfJavaHomeThenPathThenTheNewest(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	jvm := filepath.Join(dir, "jvm")
	old, home, inPath := install(t, filepath.Join(dir, "old"), "17.0.15"), install(t, filepath.Join(dir, "home"), "21"), install(t, filepath.Join(dir, "path"), "22.0.1")
	install(t, filepath.Join(jvm, "a"), "24.0.2")
	newest := install(t, filepath.Join(jvm, "b"), "25.0.3")
	install(t, filepath.Join(jvm, "c"), "17")
	linked := filepath.Join(dir, "links")
	if err := os.Mkdir(linked, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(inPath, "bin", "javac"), filepath.Join(linked, "javac")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		javaHome, path, want string
	}{
		{home, linked, home},
		{old, linked, inPath},
		{"", filepath.Join(inPath, "bin"), inPath},
		{"", filepath.Join(old, "bin"), newest},
		{"", "", newest},
	} {
		j, err := findJDK(func(name string) string { return map[string]string{"JAVA_HOME": c.javaHome, "PATH": c.path}[name] }, []string{filepath.Join(jvm, "*")})
		if err != nil || j.home != c.want {
			t.Errorf("JAVA_HOME %s, PATH %s: got %v, %v; want %s", c.javaHome, c.path, j, err, c.want)
		}
	}
}

func TestWithoutAJDKItSaysWhereItLooked(t *testing.T) {
	dir := t.TempDir()
	old := install(t, filepath.Join(dir, "old"), "17.0.15")
	_, err := findJDK(func(name string) string { return map[string]string{"JAVA_HOME": old}[name] }, []string{filepath.Join(dir, "*")})
	if !errors.Is(err, errNoJDK) {
		t.Fatalf("got %v, want %v", err, errNoJDK)
	}
	for _, part := range []string{"17.0.15", "PATH has no javac", filepath.Join(dir, "*")} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got %q, want %q in it", err, part)
		}
	}
	var out strings.Builder
	if !reportNoJDK(&out, err) || !strings.HasPrefix(out.String(), "compare: nothing compared with Java: no JDK") {
		t.Errorf("got %q, want the reason", &out)
	}
	if reportNoJDK(&out, errors.New("another")) {
		t.Error("another error is taken for a missing JDK")
	}
}

func TestACommandHasTheCarriersAndTheRecordingOfItsWork(t *testing.T) {
	j := jdk{home: "h", major: 25}
	one := j.command(work{java: "w", carriers: 1}, "c", defaultRecording).Args
	for _, want := range []string{"-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1", "-XX:StartFlightRecording:settings=default"} {
		if !slices.Contains(one, want) {
			t.Errorf("got %q, want %s", one, want)
		}
	}
	if last := one[len(one)-2:]; last[0] != "Main" || last[1] != "w" {
		t.Errorf("got %q at the end, want Main and the work", last)
	}
	for _, arg := range j.command(work{java: "w"}, "c", noRecording).Args {
		if strings.Contains(arg, "FlightRec") || strings.Contains(arg, "parallelism") {
			t.Errorf("got %s, want neither carriers nor a recording", arg)
		}
	}
}

// The programs are compiled by make compare alone, so they would rot unseen.
func TestTheJavaProgramsCompileAndSayWhatTheyKnow(t *testing.T) {
	j, err := findJDK(os.Getenv, jvmFolders)
	if errors.Is(err, errNoJDK) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	classes := t.TempDir()
	if err := j.compile(fixtures, classes); err != nil {
		t.Fatal(err)
	}
	out, err := j.command(work{java: "nothing"}, classes, noRecording).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "ping-pong") {
		t.Errorf("a work that there is not: got %v and %q, want exit 2 and the works that there are", err, out)
	}
}
