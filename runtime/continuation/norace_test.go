//go:build !race

package continuation_test

const raceEnabled = false
