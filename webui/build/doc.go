// Command build bundles the page from webui/src and webui/vendor into webui/dist, which the package
// webui embeds. It needs neither node nor npm, and gives the same bytes on every machine.
//
//	go run -C webui/build .             # rewrite webui/dist
//	go run -C webui/build . -check      # exit 1 if webui/dist is stale or, where npm is there, a type is wrong
//	go run -C webui/build . -vendor     # copy the libraries from webui/node_modules to webui/vendor first
//
// # Concurrency
//
// One goroutine, besides those of esbuild.
//
// # Where to start reading
//
// bundle.go makes the files, libraries.go lists what comes from npm, types.go checks the types.
package main
