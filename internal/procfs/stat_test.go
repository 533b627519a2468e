package procfs

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestStatLineOfAnyCommandIsParsed(t *testing.T) {
	for line, want := range map[string]Stat{
		"1 (a) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0":                             {State: 'S', Start: 12345},
		"1 (a) T ) (b) T 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0":                        {State: 'T', Start: 77},
		"1 (a) Z 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 8" + strings.Repeat(" 0", 29) + " 768": {State: 'Z', Start: 8, Exit: 768, ExitKnown: true},
		"1 (a) R 1 1 1 0 -1 4194308 0 0 0 0 0 0 0 0 20 0 1 0 10 0 0":                                {State: 'R', Start: 10, Exiting: true},
		"1 (new\nline) Z 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0 0 0":                   {State: 'Z', Start: 9},
	} {
		if got, err := parseStat([]byte(line)); err != nil || got != want {
			t.Errorf("%q: got %v, error %v; want %v", line, got, err, want)
		}
	}
	for _, line := range []string{"", "1 (a", "1 (a) S 1", "1 (a) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 x 0"} {
		if got, err := parseStat([]byte(line)); err == nil {
			t.Errorf("%q: got %v, want an error", line, got)
		}
	}
}

func TestAProcessIsIdentified(t *testing.T) {
	if runtime.GOOS != "linux" {
		if _, err := SelfStat(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want %v", err, fs.ErrNotExist)
		}
		return
	}
	self, err := SelfStat()
	if err != nil || self.Start == 0 || self.Ended() {
		t.Errorf("got %+v, %v; want a process that lives", self, err)
	}
	if st, err := ReadStat(os.Getpid()); err != nil || st.Start != self.Start {
		t.Errorf("by its pid: got %+v, %v; want start %d", st, err, self.Start)
	}
	if pid, err := OwnPID(os.Getpid()); err != nil || pid != os.Getpid() {
		t.Errorf("got pid %d, %v; want %d", pid, err, os.Getpid())
	}
	if uids, err := UIDs(os.Getpid()); err != nil || !slices.Equal(uids, []int{os.Getuid(), os.Geteuid(), os.Geteuid(), os.Geteuid()}) {
		t.Errorf("got users %v, %v; want %d", uids, err, os.Getuid())
	}
	if none, err := Status(os.Getpid(), "Nothing"); err != nil || none != nil {
		t.Errorf("no such line: got %v, %v; want nil", none, err)
	}
	if _, err := ReadStat(0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no process: got %v, want %v", err, fs.ErrNotExist)
	}
}
