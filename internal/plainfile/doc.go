// Package plainfile opens and makes files by names that another user may have prepared.
//
//	f, err := plainfile.Open(path)              // never a pipe that nobody writes to
//	text, err := plainfile.Read(path, 1<<20)    // never more than that
//	f, err := plainfile.Create(path)            // a new file, whatever had the name
//	err := plainfile.Replace(path, 0o600, write) // whole, or not at all
//
// A name says little: the file behind it may be a symbolic link, a pipe, a device or somebody else's, and another one after it was checked. So each
// function opens first, and checks the file that it has open.
//
// # Concurrency
//
// All functions may be called from any goroutine.
//
// # Where to start reading
//
// [Open] for what is read, [Create] for what is written.
package plainfile
