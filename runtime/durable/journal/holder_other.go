//go:build !linux

package journal

// Holder returns the process that uses a file store's folder: 0, as it cannot be known here.
func Holder(string) (pid int) { return 0 }

// FoldersOf returns the folders of the file stores that a process uses: none, as that cannot be known here.
func FoldersOf(int) (dirs []string) { return nil }
