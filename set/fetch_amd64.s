#include "textflag.h"

// func prefetch(at **uint64, n int)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVQ at+0(FP), SI
	MOVQ n+8(FP), CX
	LEAQ (SI)(CX*8), CX

next:
	CMPQ SI, CX
	JGE  done
	MOVQ (SI), DX
	PREFETCHT0 (DX)
	ADDQ $8, SI
	JMP  next

done:
	RET
