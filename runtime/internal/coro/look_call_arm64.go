package coro

import "encoding/binary"

// callee returns the entry of the function that the call before the return address pc calls, if that can be told: a direct call can.
func callee(pc uintptr) (entry uintptr, known bool) {
	op := binary.LittleEndian.Uint32(text(pc-4, 4))
	if op>>26 != 0b100101 { // BL
		return 0, false
	}
	return pc - 4 + uintptr(int64(int32(op<<6)>>4)), true
}
