//go:build !amd64 && !arm64

package coro

func getfp() uintptr { return 0 }
