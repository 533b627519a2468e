package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Holder returns the process that uses a file store's folder, 0 if none does, or none that this process may know of: the kernel's table of locks tells, nobody is disturbed.
func Holder(dir string) (pid int) {
	info, err := os.Stat(filepath.Join(dir, lockName))
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	table, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0
	}
	inode := fmt.Sprintf(":%d", st.Ino)
	for line := range strings.Lines(string(table)) {
		// 1: FLOCK  ADVISORY  WRITE 4711 00:1f:1234 0 EOF
		words := strings.Fields(line)
		if len(words) < 6 || words[1] != "FLOCK" || words[3] != "WRITE" || !strings.HasSuffix(words[5], inode) {
			continue
		}
		n, err := strconv.Atoi(words[4])
		// Inodes are those of one device: the holder has the file open.
		if err == nil && n > 0 && slices.Contains(FoldersOf(n), absolute(dir)) {
			return n
		}
	}
	return 0
}

func absolute(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}

// FoldersOf returns the folders of the file stores that a process uses: the files that it has open tell, also while it is stopped.
func FoldersOf(pid int) (dirs []string) {
	fds := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(fds)
	if err != nil {
		return nil
	}
	logs, locks := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		path, err := os.Readlink(filepath.Join(fds, e.Name()))
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		dir, name := filepath.Split(path)
		switch dir = filepath.Clean(dir); {
		case name == lockName:
			locks[dir] = true
		case isLog(name):
			logs[dir] = true
		}
	}
	for dir := range logs {
		if locks[dir] {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}

func isLog(name string) bool {
	digits, ok := strings.CutSuffix(name, logSuffix)
	return ok && len(digits) >= 12 && strings.Trim(digits, "0123456789") == ""
}
