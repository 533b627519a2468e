//go:build !linux

package sched

// markCPU measures nothing here.
func markCPU() cpuMark { return cpuMark{} }

func markCPUOf(int) cpuMark { return cpuMark{} }

func markProcess() cpuMark { return cpuMark{} }
