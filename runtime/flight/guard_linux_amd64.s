#include "textflag.h"

// func busHandler()
// In: DI signal, SI siginfo, DX context. The kernel restores all registers on return, so they are free; Go's handler needs the three as they came.
TEXT ·busHandler(SB), NOSPLIT|NOFRAME, $0-0
	CMPL 8(SI), $2 // si_code: BUS_ADRERR
	JNE  next
	MOVQ 16(SI), AX // si_addr
	MOVQ ·guardCount(SB), CX
	MOVQ ·guardRanges(SB), R8

look:
	TESTQ CX, CX
	JEQ   next
	CMPQ  AX, 0(R8)
	JCS   miss
	CMPQ  AX, 8(R8)
	JCS   hit

miss:
	ADDQ $16, R8
	DECQ CX
	JMP  look

hit:
	// mmap(page, end-page, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS, -1, 0)
	MOVQ DI, R12
	MOVQ SI, R13
	MOVQ DX, R14
	MOVQ AX, DI
	ANDQ ·guardMask(SB), DI
	MOVQ 8(R8), SI
	SUBQ DI, SI
	MOVQ $3, DX
	MOVQ $0x32, R10
	MOVQ $-1, R8
	XORL R9, R9
	MOVQ $9, AX
	SYSCALL
	CMPQ AX, DI
	JNE  failed
	LOCK
	INCQ ·guardHits(SB)
	RET

failed:
	MOVQ R12, DI
	MOVQ R13, SI
	MOVQ R14, DX

next:
	MOVQ ·guardNext(SB), AX
	JMP  AX

// func busHandlerAddress() uintptr
TEXT ·busHandlerAddress(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ ·busHandler(SB), AX
	MOVQ AX, ret+0(FP)
	RET
