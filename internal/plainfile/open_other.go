//go:build !unix

package plainfile

import "io/fs"

// Other systems have no such flags: there a name is what it is.
const openNonblock, openNoFollow = 0, 0

func isLink(error) bool { return false }

func links(fs.FileInfo) uint64 { return 1 }

// Owner returns the user that a file is of, as far as the system tells.
func Owner(fs.FileInfo) (uid int, known bool) { return 0, false }
