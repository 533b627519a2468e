//go:build unix && (!linux || (!amd64 && !arm64) || race || msan || asan)

package vnet

// brief: elsewhere Go's scheduler is told of each call, and so are the detectors.
const brief = 0

func briefRead(fd int, b []byte) (int, error)  { panic("vnet: not called") }
func briefWrite(fd int, b []byte) (int, error) { panic("vnet: not called") }
