module github.com/vtscope/vtscope

go 1.26

require (
	github.com/gorilla/websocket v1.5.3
	github.com/petermattis/goid v0.0.0-20260820044319-269ab09b5261 // indirect
)
