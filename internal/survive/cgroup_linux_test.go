package survive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A memory cgroup's files, which differ between the two versions.
var (
	groupLimits = []string{"memory.max", "memory.limit_in_bytes"}
	groupUsages = []string{"memory.current", "memory.usage_in_bytes"}
)

// memoryGroup makes a cgroup for one child, below the test's own, and returns its folder. It skips the test where that cannot be.
func memoryGroup(t *testing.T) string {
	t.Helper()
	own, err := ownGroup()
	if err != nil {
		t.Skipf("needs a memory cgroup: %v", err)
	}
	dir, err := os.MkdirTemp(own, "vtscope-survive-")
	if err != nil {
		t.Skipf("needs the right to make a memory cgroup: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil { // its processes are gone
			t.Error(err)
		}
	})
	if _, err := groupFile(dir, groupLimits); err != nil { // of version 2, and its controller is not passed on
		t.Skipf("needs a memory cgroup: %v", err)
	}
	return dir
}

// ownGroup returns the folder of the process's memory cgroup.
func ownGroup() (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for _, controller := range strings.Split(fields[1], ",") {
			if controller == "memory" {
				return filepath.Join("/sys/fs/cgroup/memory", fields[2]), nil
			}
		}
		if fields[1] == "" {
			if dir := filepath.Join("/sys/fs/cgroup", fields[2]); exists(filepath.Join(dir, "cgroup.controllers")) {
				return dir, nil
			}
		}
	}
	return "", errors.New("the process is in none")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// groupFile returns the first of the names that is in the folder.
func groupFile(dir string, names []string) (string, error) {
	for _, name := range names {
		if path := filepath.Join(dir, name); exists(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s has none of %v", dir, names)
}

// limitGroup lets the cgroup have some bytes more than it has now.
func limitGroup(dir string, more int) error {
	usage, err := groupFile(dir, groupUsages)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(usage)
	if err != nil {
		return err
	}
	now, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	limit, err := groupFile(dir, groupLimits)
	if err != nil {
		return err
	}
	return os.WriteFile(limit, []byte(strconv.Itoa(now+more)), 0)
}
