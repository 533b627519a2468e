// Package e2e tests the page in a browser, against the real vtserve and the real shop.
//
// It is a module of its own because of the browser's driver. Without Chromium its test is skipped, with the
// reason. Only -update writes docs/page.png.
//
// # Concurrency
//
// One browser, one vtserve, one test.
//
// # Where to start reading
//
// page_test.go is what a user sees, in order; browser_test.go and vtserve_test.go start and stop the two.
package e2e
