//go:build !unix

package incident

// lives is not known here: what is unfinished stays.
func lives(int) bool { return true }
