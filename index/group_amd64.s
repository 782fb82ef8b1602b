#include "textflag.h"

// The displacements of eight slots of 6 bytes, in the words where these have signature and
// displacement; other words do not count.
DATA displacements<>+0(SB)/8, $0x0100000000000000
DATA displacements<>+8(SB)/8, $0x0000020000000000
DATA displacements<>+16(SB)/8, $0x0000000003000000
DATA displacements<>+24(SB)/8, $0x0500000000000400
DATA displacements<>+32(SB)/8, $0x0000060000000000
DATA displacements<>+40(SB)/8, $0x0000000007000000
GLOBL displacements<>(SB), RODATA|NOPTR, $48

// func fitting(group *farGroup, signature uint32) (slots uint32)
TEXT ·fitting(SB), NOSPLIT, $0-20
	MOVQ    group+0(FP), AX
	MOVL    signature+8(FP), X0
	PSHUFLW $0, X0, X0
	PSHUFD  $0, X0, X0

	MOVOU   displacements<>+0(SB), X1
	MOVOU   displacements<>+16(SB), X2
	MOVOU   displacements<>+32(SB), X3
	PADDW   X0, X1
	PADDW   X0, X2
	PADDW   X0, X3
	MOVOU   0(AX), X4
	MOVOU   16(AX), X5
	MOVOU   32(AX), X6
	PCMPEQW X4, X1
	PCMPEQW X5, X2
	PCMPEQW X6, X3

	// A bit for each word.
	PACKSSWB X2, X1
	PACKSSWB X3, X3
	PMOVMSKB X1, BX
	PMOVMSKB X3, CX
	SHLL     $16, CX
	ORL      CX, BX
	ANDL     $0x249249, BX // every third one
	MOVL     BX, slots+16(FP)
	RET
