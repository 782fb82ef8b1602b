#include "textflag.h"

// func prefetch(at **uint64, n, lines int)
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVQ at+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ lines+16(FP), R8

word:
	DECQ CX
	JLT  done
	MOVQ (SI), DX
	ADDQ $8, SI
	MOVQ R8, AX

line:
	PREFETCHT0 (DX)
	ADDQ $64, DX
	DECQ AX
	JGT  line
	JMP  word

done:
	RET

// func PrefetchWrite(at *uint64)
TEXT ·PrefetchWrite(SB), NOSPLIT, $0-8
	MOVQ at+0(FP), AX
	BYTE $0x0F; BYTE $0x0D; BYTE $0x08 // PREFETCHW (AX), which processors without it take for no operation
	RET
