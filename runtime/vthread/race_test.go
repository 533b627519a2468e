//go:build race

package vthread_test

// racing tells whether the race detector looks on.
const racing = true
