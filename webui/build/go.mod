module github.com/vtscope/vtscope/webui/build

go 1.26

require (
	github.com/evanw/esbuild v0.28.2
	github.com/gorilla/websocket v1.5.3
)

require golang.org/x/sys v0.0.0-20220715151400-c0bba94af5f8 // indirect
