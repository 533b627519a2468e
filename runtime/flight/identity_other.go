//go:build !linux

package flight

// An identity tells a process from all others of the machine; unknown here.
type identity struct {
	startTime uint64
	bootID    [16]byte
	pidSpace  uint64
}

func selfIdentity() identity { return identity{} }

func selfBuildID() string { return "" }
