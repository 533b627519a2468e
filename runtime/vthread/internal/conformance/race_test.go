//go:build race

package conformance_test

// raceDetector tells that tests are slower, and take more memory.
const raceDetector = true
