#include "textflag.h"

// matchMask
DATA mask<>+0(SB)/8, $0x80ff800000000000
GLOBL mask<>(SB), RODATA, $8

// func kernelOthersIn(line *[8]uint64, want uint64) int
TEXT ·kernelOthersIn(SB), NOSPLIT, $0-24
	MOVQ         line+0(FP), SI
	VPBROADCASTQ want+8(FP), Y0
	VPBROADCASTQ mask<>(SB), Y1
	VPXOR        Y6, Y6, Y6
	VMOVDQU      (SI), Y2
	VMOVDQU      32(SI), Y3
	VPXOR        Y0, Y2, Y4
	VPXOR        Y0, Y3, Y5
	VPAND        Y1, Y4, Y4
	VPAND        Y1, Y5, Y5
	VPCMPEQQ     Y6, Y4, Y4 // it may have the key
	VPCMPEQQ     Y6, Y5, Y5
	VPADDQ       Y2, Y2, Y6 // the highest bit is frozen
	VPADDQ       Y3, Y3, Y7
	VPOR         Y6, Y4, Y4
	VPOR         Y7, Y5, Y5
	VPANDN       Y2, Y4, Y4 // it is occupied, and none of these
	VPANDN       Y3, Y5, Y5
	VMOVMSKPD    Y4, AX
	VMOVMSKPD    Y5, BX
	SHLL         $4, BX
	ORL          BX, AX
	NOTL         AX
	BSFL         AX, AX
	MOVQ         AX, ret+16(FP)
	VZEROUPPER
	RET
