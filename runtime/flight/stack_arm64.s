#include "textflag.h"

// A frame pointer (R29) points to the caller's saved one, and the return address lies above. Each
// saved one must lie further up and below g.stack.hi, the second word of g. The walk also ends before a
// return address of stackEnds.

// func hashFrames(max int) (sum uint64, n int)
TEXT ·hashFrames(SB), NOSPLIT|NOFRAME, $0-24
	MOVD max+0(FP), R8
	MOVD 8(g), R9
	MOVD $·stackKeys(SB), R10
	MOVD ·stackEnds+0(SB), R6
	MOVD ·stackEnds+8(SB), R7
	MOVD ZR, R0
	MOVD ZR, R1
	MOVD R29, R2

hash:
	MOVD   8(R2), R3
	CMP    R6, R3
	BEQ    hashed
	CMP    R7, R3
	BEQ    hashed
	MOVD.P 8(R10), R5
	MUL    R5, R3, R3
	ADD    R3, R0, R0
	MOVD   (R2), R4
	ADD    $1, R1, R1
	CMP    R2, R4
	BLS    hashed
	CMP    R9, R4
	BHS    hashed
	MOVD   R4, R2
	CMP    R8, R1
	BLO    hash
	ADD    $1, R1, R1

hashed:
	MOVD R0, sum+8(FP)
	MOVD R1, n+16(FP)
	RET

// func copyFrames(to *uint64, max int) (n int)
TEXT ·copyFrames(SB), NOSPLIT|NOFRAME, $0-24
	MOVD 8(g), R9
	MOVD ·stackEnds+0(SB), R7
	MOVD ·stackEnds+8(SB), R8
	MOVD to+0(FP), R10
	MOVD max+8(FP), R6
	MOVD ZR, R1
	MOVD R29, R2

copy:
	CMP    R6, R1
	BHS    copied
	MOVD   8(R2), R3
	CMP    R7, R3
	BEQ    copied
	CMP    R8, R3
	BEQ    copied
	MOVD.P R3, 8(R10)
	ADD    $1, R1, R1
	MOVD   (R2), R4
	CMP    R2, R4
	BLS    copied
	CMP    R9, R4
	BHS    copied
	MOVD   R4, R2
	JMP    copy

copied:
	MOVD R1, n+16(FP)
	RET
