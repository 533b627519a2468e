package coro

import "encoding/binary"

// callee returns the entry of the function that the call before the return address pc calls, if that can be told: a direct call can.
func callee(pc uintptr) (entry uintptr, known bool) {
	b := text(pc-5, 5)
	if b[3] == 0xff && b[4]&0x38 == 0x10 { // CALL of a register or of memory; as the end of a distance it would be 2 GB off
		return 0, false
	}
	if b[0] != 0xe8 {
		return 0, false
	}
	return pc + uintptr(int64(int32(binary.LittleEndian.Uint32(b[1:])))), true
}
