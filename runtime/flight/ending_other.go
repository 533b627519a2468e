//go:build !linux

package flight

import "os"

func processHandle(int, uint64) *os.File { return nil }

func isExiting(int, uint64) bool { return false }

func exitStatus(*os.File, int, uint64) (status uint32, ok bool) { return 0, false }
