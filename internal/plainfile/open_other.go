//go:build !unix

package plainfile

import "io/fs"

// Other systems have no such flags: there a name is what it is.
const openNonblock, openNoFollow = 0, 0

func isLink(error) bool { return false }

func links(fs.FileInfo) uint64 { return 1 }

func owner(fs.FileInfo) (uid int, known bool) { return 0, false }
