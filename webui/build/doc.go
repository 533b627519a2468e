// Command build bundles the page from webui/src and webui/vendor into webui/dist, which the package
// webui embeds. It needs neither node nor npm, and gives the same bytes on every machine.
//
//	go run -C webui/build .             # rewrite webui/dist
//	go run -C webui/build . -check      # exit 1 if webui/dist is stale or, where npm is there, a type is wrong
//	go run -C webui/build . -vendor     # copy the libraries from webui/node_modules to webui/vendor first
//	go run -C webui/build . -agent 127.0.0.1:7070                          # make ui-dev: the page as the sources are, over a running agent
//	go run -C webui/build . -agent 127.0.0.1:7070 -record FILE             # make ui-record: and write down what it says
//	go run -C webui/build . -replay ../testdata/shop.traffic               # make ui-replay: over that, without a process
//
// # Concurrency
//
// One goroutine, besides those of esbuild; when it serves, one for each request, and one more for each websocket.
//
// # Where to start reading
//
// bundle.go makes the files, libraries.go lists what comes from npm, types.go checks the types. serve.go serves the sources; behind it is either relay.go or
// replay.go, and traffic.go is what these write and read.
package main
