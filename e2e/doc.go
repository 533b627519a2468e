// Package e2e tests the page in a browser, against the real vtserve and the real shop.
//
//	go test -C e2e .            # with a shop of 100,000 threads
//	go test -C e2e . -update    # and write docs/page.png
//
// It is a module of its own because of the browser's driver. Without Chromium its test is skipped, with the
// reason.
//
// # Concurrency
//
// One browser, one vtserve, one test.
//
// # Where to start reading
//
// page_test.go is what a user sees, in order; browser_test.go and vtserve_test.go start and stop the two.
package e2e
