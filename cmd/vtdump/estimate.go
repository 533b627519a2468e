package main

import (
	"fmt"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/memory"
)

// What is estimated for each thread before it is done. docs/outside.md and docs/formats.md have what was measured.
const (
	stopPerThread = 1500 * time.Nanosecond
	jsonPerThread = 1200 // bytes, with a stack of ten frames
	textPerThread = 750
)

// From here on what is asked for is not done without --yes. Tests change them.
var (
	longStop  = 100 * time.Millisecond
	largePage = 1 << 30 // bytes
)

// mayStop refuses to stop a process for long, unless --yes is given.
func (s *settings) mayStop(pid int) error {
	if !s.memory.Stop || s.yes {
		return nil
	}
	src, err := memory.Attach(pid, memory.Options{}) // which stops nothing
	if err != nil {
		return err
	}
	threads := src.Process().Threads
	if err := src.Close(); err != nil {
		return err
	}
	if long := time.Duration(threads) * stopPerThread; long >= longStop {
		return hint{fmt.Errorf("--stop would stop the process for about %s: it has %s", dump.Span(long), dump.Count(threads, "thread")),
			"--memory, which does not stop it; or --stop --yes"}
	}
	return nil
}

// mayPrint refuses to print every thread of very many, unless --yes is given.
func (s *settings) mayPrint(way *way, src dump.Source) error {
	threads := src.Process().Threads
	size := threads * jsonPerThread
	if way.name == "jdk-text" {
		size = threads * textPerThread
	}
	if s.yes || !s.filter.Empty() || size < largePage {
		return nil
	}
	return hint{fmt.Errorf("--format %s would be about %.1f GB: there are %s, and each is in it", way.name, float64(size)/1e9, dump.Count(threads, "thread")),
		"--format html or json, which have groups; a --filter; or --yes"}
}
