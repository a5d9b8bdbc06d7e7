//go:build linux

#include "textflag.h"

// func poll(addr *uint64, old uint64, n int) uint64
TEXT ·poll(SB), NOSPLIT, $0-32
	MOVD addr+0(FP), R0
	MOVD old+8(FP), R1
	MOVD n+16(FP), R2

again:
	LDAR  (R0), R3
	CMP   R1, R3
	BNE   changed
	YIELD
	SUBS  $1, R2, R2
	BNE   again

changed:
	MOVD R3, ret+24(FP)
	RET

// func prefetchWrite(addr unsafe.Pointer)
TEXT ·prefetchWrite(SB), NOSPLIT, $0-8
	MOVD addr+0(FP), R0
	PRFM (R0), PSTL1KEEP
	RET
