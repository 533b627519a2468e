//go:build !race

package vttest_test

const raceEnabled = false
