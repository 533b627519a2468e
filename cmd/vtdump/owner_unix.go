//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// ownerOf names the user that a process, or the file of a path, is of: "user 1000, who runs it", or without a number if that is not known.
func ownerOf(target string) string {
	path := target
	if _, err := strconv.Atoi(target); err == nil {
		path = "/proc/" + target
	}
	for ; ; path = filepath.Dir(path) { // a directory that may not be searched tells who may
		if info, err := os.Lstat(path); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				return fmt.Sprintf("user %d, who runs it", s.Uid)
			}
		}
		if path == filepath.Dir(path) {
			return "the user who runs the program"
		}
	}
}
