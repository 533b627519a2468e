package flight

import _ "unsafe" // for go:linkname

// nanotime reads CLOCK_MONOTONIC. The time package's clock would be the false one of a
// testing/synctest bubble. The runtime lists it among the names that stay linkable; should a Go
// release take it away the link fails, and time.Since of a package variable is the substitute.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64
