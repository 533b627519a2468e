//go:build !linux

package memory

import "os"

func mapFile(*os.File, int64) []byte { return nil }

func unmap([]byte) error { return nil }

func forget([]byte) {}
