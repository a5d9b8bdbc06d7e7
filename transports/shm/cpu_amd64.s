//go:build linux

#include "textflag.h"

// func poll(addr *uint64, old uint64, n int) uint64
TEXT ·poll(SB), NOSPLIT, $0-32
	MOVQ addr+0(FP), DI
	MOVQ old+8(FP), SI
	MOVQ n+16(FP), CX

again:
	MOVQ (DI), AX
	CMPQ AX, SI
	JNE  changed
	PAUSE
	DECQ CX
	JNZ  again

changed:
	MOVQ AX, ret+24(FP)
	RET

// func prefetchWrite(addr unsafe.Pointer)
TEXT ·prefetchWrite(SB), NOSPLIT, $0-8
	MOVQ addr+0(FP), AX
	BYTE $0x0F; BYTE $0x0D; BYTE $0x08 // PREFETCHW (AX), which the assembler does not know; a NOP where the CPU doesn't
	RET
