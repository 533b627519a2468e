#include "textflag.h"

// func busHandler()
// In: R0 signal, R1 siginfo, R2 context. The kernel restores all registers on return, so they are free; Go's handler needs the three as they came, and R30.
TEXT ·busHandler(SB), NOSPLIT|NOFRAME, $0-0
	MOVW 8(R1), R9 // si_code
	CMP  $2, R9    // BUS_ADRERR
	BNE  next
	MOVD 16(R1), R9 // si_addr
	MOVD $·guardCount(SB), R10
	LDAR (R10), R10
	MOVD $·guardRanges(SB), R11
	LDAR (R11), R11

look:
	CBZ R10, next
	LDP (R11), (R12, R13)
	CMP R12, R9
	BLO miss
	CMP R13, R9
	BLO hit

miss:
	ADD $16, R11
	SUB $1, R10
	JMP look

hit:
	// mmap(page, end-page, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS, -1, 0)
	MOVD R0, R19
	MOVD R1, R20
	MOVD R2, R21
	MOVD ·guardMask(SB), R14
	AND  R14, R9, R0
	MOVD R0, R22
	SUB  R0, R13, R1
	MOVD $3, R2
	MOVD $0x32, R3
	MOVD $-1, R4
	MOVD ZR, R5
	MOVD $222, R8
	SVC
	CMP  R22, R0
	BNE  failed
	MOVD $·guardHits(SB), R9

count:
	LDAXR (R9), R10
	ADD   $1, R10
	STLXR R10, (R9), R11
	CBNZ  R11, count
	RET

failed:
	MOVD R19, R0
	MOVD R20, R1
	MOVD R21, R2

next:
	MOVD ·guardNext(SB), R9
	JMP  (R9)

// func busHandlerAddress() uintptr
TEXT ·busHandlerAddress(SB), NOSPLIT|NOFRAME, $0-8
	MOVD $·busHandler(SB), R0
	MOVD R0, ret+0(FP)
	RET
