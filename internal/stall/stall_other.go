//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "stall: stops threads on Linux only")
	os.Exit(2)
}
