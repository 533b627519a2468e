package main

import "testing"

func TestLimitsOfItsOwnCost(t *testing.T) {
	s, err := parse(nil)
	if err != nil || s.maxCPU != 0.5 || s.maxMemory != 256<<20 {
		t.Errorf("without flags: %v of a processor and %d bytes, %v; want half a processor and 256 MB", s.maxCPU, s.maxMemory, err)
	}
	s, err = parse([]string{"--max-cpu", "1.5", "--max-memory", "0"})
	if err != nil || s.maxCPU != 1.5 || s.maxMemory != 0 {
		t.Errorf("got %v and %d, %v; want 1.5 and no limit", s.maxCPU, s.maxMemory, err)
	}
	for _, bad := range [][]string{{"--max-cpu", "-1"}, {"--max-cpu", "NaN"}, {"--max-cpu", "Inf"}, {"--max-cpu", "all"}, {"--max-memory", "-1"}, {"--max-memory", "99999999999"}, {"--max-memory", "1G"}} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
