package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// oldest is the first version of the JDK that has virtual threads.
const oldest = 21

// A jdk is an installed JDK.
type jdk struct {
	home    string
	version string // 25.0.3
	major   int
}

// jvmFolders are where JDKs are installed.
var jvmFolders = []string{
	"/usr/lib/jvm/*",
	"/opt/java/*",
	"/Library/Java/JavaVirtualMachines/*/Contents/Home",
	"$HOME/.sdkman/candidates/java/*",
}

// errNoJDK is returned by [findJDK], with the places that it looked at.
var errNoJDK = fmt.Errorf("no JDK of version %d or newer", oldest)

// findJDK returns the JDK of JAVA_HOME, else that of PATH, else the newest in the folders, if it is new enough.
func findJDK(getenv func(string) string, folders []string) (jdk, error) {
	looked := ""
	if home := getenv("JAVA_HOME"); home == "" {
		looked = "JAVA_HOME is not set"
	} else if j, err := lookAt(home); err == nil {
		return j, nil
	} else {
		looked = fmt.Sprintf("JAVA_HOME: %v", err)
	}
	if home := homeInPath(getenv("PATH")); home == "" {
		looked += "; PATH has no javac"
	} else if j, err := lookAt(home); err == nil {
		return j, nil
	} else {
		looked += fmt.Sprintf("; PATH: %v", err)
	}
	var found []jdk
	for _, pattern := range folders {
		homes, err := filepath.Glob(os.Expand(pattern, getenv))
		if err != nil {
			return jdk{}, err
		}
		for _, home := range homes {
			if j, err := lookAt(home); err == nil {
				found = append(found, j)
			}
		}
		looked += "; none in " + pattern
	}
	if found == nil {
		return jdk{}, fmt.Errorf("%w (%s)", errNoJDK, looked)
	}
	return slices.MaxFunc(found, func(a, b jdk) int { return a.major - b.major }), nil
}

// homeInPath returns the folder of the first JDK that is in the list of folders, or "".
func homeInPath(path string) string {
	for _, dir := range filepath.SplitList(path) {
		if file, err := filepath.EvalSymlinks(filepath.Join(dir, "javac")); err == nil {
			return filepath.Dir(filepath.Dir(file))
		}
	}
	return ""
}

var versionInRelease = regexp.MustCompile(`(?m)^JAVA_VERSION="((\d+)[^"]*)"`)

// lookAt returns the JDK in a folder, or why there is none that can be used.
func lookAt(home string) (jdk, error) {
	if _, err := os.Stat(filepath.Join(home, "bin", "javac")); err != nil {
		return jdk{}, err
	}
	release, err := os.ReadFile(filepath.Join(home, "release"))
	if err != nil {
		return jdk{}, err
	}
	m := versionInRelease.FindSubmatch(release)
	if m == nil {
		return jdk{}, fmt.Errorf("%s: no JAVA_VERSION in its file release", home)
	}
	major, err := strconv.Atoi(string(m[2]))
	if err != nil {
		return jdk{}, err
	}
	if major < oldest {
		return jdk{}, fmt.Errorf("%s is version %s", home, m[1])
	}
	return jdk{home, string(m[1]), major}, nil
}

func (j jdk) bin(name string) string { return filepath.Join(j.home, "bin", name) }

// compile compiles the Java programs of a folder that the version can compile.
func (j jdk) compile(from, to string) error {
	all, err := filepath.Glob(filepath.Join(from, "*.java"))
	if err != nil {
		return err
	}
	args := []string{"-d", to}
	for _, file := range all {
		if filepath.Base(file) != "Blocked.java" || j.major >= foreignSince {
			args = append(args, file)
		}
	}
	if out, err := exec.Command(j.bin("javac"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: %w\n%s", from, err, out)
	}
	return nil
}

// foreignSince is the first version with java.lang.foreign, which Blocked.java needs.
const foreignSince = 22

// A recording says what a JDK records.
type recording string

// The recordings that are compared. The last two are of all that there is for virtual threads: start, end, and each time that they wait
// and hold their carrier, with the stack. For a wait that gives the carrier away, which vtscope records, the JDK has no event: in the last one
// the program has its own (Recorded.java).
const (
	noRecording      recording = ""
	defaultRecording recording = "settings=default"
	allEvents        recording = "settings=default,jdk.VirtualThreadStart#enabled=true,jdk.VirtualThreadEnd#enabled=true," +
		"jdk.VirtualThreadPinned#threshold=0ns,jdk.ThreadPark#threshold=0ns,jdk.ThreadSleep#threshold=0ns"
	eachWait recording = allEvents + ",compare.Wait#enabled=true"
)

// command runs one work.
func (j jdk) command(w work, classes string, r recording) *exec.Cmd {
	args := []string{
		"-cp", classes,
		// Else the compiler makes one frame of several.
		"-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Measure::descend",
	}
	if w.carriers > 0 {
		n := strconv.Itoa(w.carriers)
		args = append(args, "-Djdk.virtualThreadScheduler.parallelism="+n)
		if w.carriers == 1 {
			args = append(args, "-Djdk.virtualThreadScheduler.maxPoolSize="+n)
		}
	}
	if j.major >= foreignSince {
		args = append(args, "--enable-native-access=ALL-UNNAMED")
	}
	if r == allEvents || r == eachWait {
		args = append(args, "-Dcompare.bytes=true")
	}
	if r == eachWait {
		args = append(args, "-Dcompare.events=true")
	}
	if r != noRecording {
		args = append(args,
			"-Xlog:jfr+startup=error",
			"-XX:FlightRecorderOptions:repository="+filepath.Join(classes, "jfr"),
			"-XX:StartFlightRecording:"+string(r))
	}
	return exec.Command(j.bin("java"), append(args, "Main", w.java)...)
}

// unmeasured says why the JDK cannot do the work, or "".
func (j jdk) unmeasured(w work) string {
	if j.major < w.since {
		return fmt.Sprintf("needs JDK %d, this is %d", w.since, j.major)
	}
	return ""
}

// reportNoJDK says why nothing is compared; it returns false if that is not for want of a JDK.
func reportNoJDK(w io.Writer, err error) bool {
	if !errors.Is(err, errNoJDK) {
		return false
	}
	fmt.Fprintf(w, "compare: nothing compared with Java: %v\n", err)
	return true
}
