//go:build unix && !linux

package vnet

const (
	receiveFlags = 0
	sendFlags    = 0
)
