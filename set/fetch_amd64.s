#include "textflag.h"

// func prefetchHomes(flat, words, homes *uint64, n int, units, unit uint64)
TEXT ·prefetchHomes(SB), NOSPLIT, $0-48
	MOVQ flat+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ homes+16(FP), R8
	MOVQ n+24(FP), CX
	MOVQ units+32(FP), R9
	MOVQ unit+40(FP), R10
	MOVQ $0x9E3779B97F4A7C15, R11
	XORQ BX, BX

loop:
	CMPQ  BX, CX
	JGE   end
	MOVQ  (SI)(BX*8), AX
	IMULQ R11, AX
	MOVQ  AX, DX
	SHRQ  $32, DX
	XORQ  DX, AX
	IMULQ R11, AX
	MULQ  R9            // DX = unit number
	IMULQ R10, DX
	MOVQ  DX, (R8)(BX*8)
	PREFETCHT0 (DI)(DX*8)
	INCQ  BX
	JMP   loop

end:
	RET

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
