#include "textflag.h"

#define AHEAD 48

// func swapAhead(flat, at *uint64, n int)
TEXT ·swapAhead(SB), NOSPLIT, $0-24
	MOVQ flat+0(FP), DI
	MOVQ at+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ BX, BX

swap:
	CMPQ BX, CX
	JGE  swapped
	MOVQ (AHEAD*8)(SI)(BX*8), DX
	PREFETCHT0 (DI)(DX*8)
	MOVQ (SI)(BX*8), DX
	LEAQ 1(DX), R8
	XORL AX, AX
	LOCK
	CMPXCHGQ R8, (DI)(DX*8)
	INCQ BX
	JMP  swap

swapped:
	RET

// func readAhead(flat, at *uint64, n int) uint64
TEXT ·readAhead(SB), NOSPLIT, $0-32
	MOVQ flat+0(FP), DI
	MOVQ at+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ BX, BX
	XORQ AX, AX

read:
	CMPQ BX, CX
	JGE  sum
	MOVQ (AHEAD*8)(SI)(BX*8), DX
	PREFETCHT0 (DI)(DX*8)
	MOVQ (SI)(BX*8), DX
	ADDQ (DI)(DX*8), AX
	INCQ BX
	JMP  read

sum:
	MOVQ AX, ret+24(FP)
	RET
