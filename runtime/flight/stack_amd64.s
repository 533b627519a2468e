#include "textflag.h"

// A frame pointer points to the caller's saved one, and the return address lies above. Each saved
// one must lie further up and below g.stack.hi, the second word of g. The walk also ends before a return
// address of stackEnds.

// func hashFrames(max int) (sum uint64, n int)
TEXT ·hashFrames(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ max+0(FP), R13
	MOVQ (TLS), R8
	MOVQ 8(R8), R9
	LEAQ ·stackKeys(SB), R10
	MOVQ ·stackEnds+0(SB), SI
	MOVQ ·stackEnds+8(SB), DI
	XORL AX, AX
	XORL CX, CX
	MOVQ BP, DX

hash:
	MOVQ  8(DX), R11
	CMPQ  R11, SI
	JEQ   hashed
	CMPQ  R11, DI
	JEQ   hashed
	IMULQ (R10)(CX*8), R11
	MOVQ  (DX), R12
	ADDQ  R11, AX
	INCQ  CX
	CMPQ  R12, DX
	JLS   hashed
	CMPQ  R12, R9
	JCC   hashed
	MOVQ  R12, DX
	CMPQ  CX, R13
	JCS   hash
	INCQ  CX

hashed:
	MOVQ AX, sum+8(FP)
	MOVQ CX, n+16(FP)
	RET

// func copyFrames(to *uint64, max int) (n int)
TEXT ·copyFrames(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ (TLS), R8
	MOVQ 8(R8), R9
	MOVQ ·stackEnds+0(SB), SI
	MOVQ ·stackEnds+8(SB), DI
	MOVQ to+0(FP), R10
	MOVQ max+8(FP), R13
	XORL CX, CX
	MOVQ BP, DX

copy:
	CMPQ CX, R13
	JCC  copied
	MOVQ 8(DX), R11
	CMPQ R11, SI
	JEQ  copied
	CMPQ R11, DI
	JEQ  copied
	MOVQ R11, (R10)(CX*8)
	INCQ CX
	MOVQ (DX), R12
	CMPQ R12, DX
	JLS  copied
	CMPQ R12, R9
	JCC  copied
	MOVQ R12, DX
	JMP  copy

copied:
	MOVQ CX, n+16(FP)
	RET
