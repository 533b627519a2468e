// Package html writes a snapshot as one page that stands by itself: it opens from a file, fetches nothing, and is at most a megabyte.
//
//	err := html.Write(w, s)
//
// The page has a policy that forbids it to fetch anything. page.html is the page; what it shows is put in its place as JSON.
//
// # Concurrency
//
// Nothing here starts a goroutine or keeps anything.
//
// # Where to start reading
//
// [Write], then page.html.
package html
