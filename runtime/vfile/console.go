package vfile

import "os"

// The standard files, for threads: a thread that reads where nothing was typed yet parks. They share what they refer to with [os.Stdin] and the others, and leave it as
// it is: a terminal that other processes have too is not made non-blocking.
var (
	Stdin  = Wrap(os.Stdin)
	Stdout = Wrap(os.Stdout)
	Stderr = Wrap(os.Stderr)
)
