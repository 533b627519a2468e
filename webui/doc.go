// Package webui holds the page: its sources in src, the libraries it uses in vendor, and the bundle
// in dist that is embedded here.
//
//	mux.Handle("/", webui.Handler())
//
// The bundle is made by `make ui` (go run -C webui/build .), which needs neither node nor npm; `make
// check` fails when it is stale. The sources are type-checked with TypeScript where npm is there.
//
// # Concurrency
//
// The handler serves constant bytes; any number of goroutines may use it.
//
// # Where to start reading
//
// src/page.tsx draws src/app.tsx from the state in src/store.ts, which src/connection.ts feeds with the
// messages of docs/protocol.md. One file per view. build/main.go makes the bundle.
package webui
