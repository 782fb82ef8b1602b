#include "textflag.h"

// func prefetchBuckets(flat, at *uint64, n int)
TEXT ·prefetchBuckets(SB), NOSPLIT, $0-24
	MOVQ flat+0(FP), DI
	MOVQ at+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ BX, BX

next:
	CMPQ BX, CX
	JGE  done
	MOVQ (SI)(BX*8), DX
	PREFETCHT0 (DI)(DX*8)
	INCQ BX
	JMP  next

done:
	RET
