package flight

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// announceEnv makes the test's own binary a program in which the announcement has come: see announced.
const announceEnv = "VTSCOPE_FLIGHT_ANNOUNCE"

// announced prints nothing if all is well.
func announced(what string) {
	say := func(problem string) { os.Stdout.WriteString(problem + "\n") }
	announce()
	early := process.mu.early
	if early == nil || early.Path() == "" {
		say("not announced")
		return
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	switch what {
	case "default":
		if Default() != early {
			say("another recorder is the default")
		}
		if Configure(Options{}) == nil {
			say("configured after the first Default")
		}
	case "configure":
		if err := Configure(Options{Program: "other"}); err != nil {
			say(err.Error())
		}
		files, err := filepath.Glob(filepath.Join(filepath.Dir(early.Path()), "*.flight"))
		if err != nil || len(files) != 1 || files[0] != process.mu.early.Path() {
			say(fmt.Sprint("got files ", files, err, ", want ", process.mu.early.Path()))
		}
		if r, err := Default().Reader(); err != nil || r.Process().Program != "other" {
			say("not as configured")
		}
	case "close":
		Close()
		announce()
		if there(early.Path()) || process.mu.early != nil {
			say("it is there")
		}
		return
	}
	Close()
}

func TestAnAnnouncedRecorderIsTheDefaultOrIsTakenBack(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no flight file to be seen here")
	}
	for _, what := range []string{"default", "configure", "close"} {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), announceEnv+"="+what, "VTSCOPE=on", "VTSCOPE_DIR="+tmpfsDir(t))
		out, err := c.CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: got %q, error %v; want nothing", what, out, err)
		}
	}
	if !inTest() {
		t.Error("a test is announced")
	}
}
