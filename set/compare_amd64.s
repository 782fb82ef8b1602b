#include "textflag.h"

// func compareAVX2(flat *uint64, flights *elementFlight, n int)
TEXT ·compareAVX2(SB), NOSPLIT, $0-24
	MOVQ flat+0(FP), DI
	MOVQ flights+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ R12, R12

next:
	DECQ CX
	JLT  done
	MOVQ (SI), R8
	MOVQ 8(SI), DX
	LEAQ (DI)(DX*8), DX
	VMOVDQU (DX), Y0
	VMOVDQU 32(DX), Y1

	// The sign bits are the occupied bits.
	VMOVMSKPD Y0, AX
	VMOVMSKPD Y1, BX
	SHLL $4, BX
	ORL  BX, AX
	NOTL AX
	TZCNTL AX, AX // those before the first empty one
	MOVQ AX, 24(SI)

	// Without their references the buckets are fingerprints.
	VPSRLQ $36, Y0, Y0
	VPSRLQ $36, Y1, Y1
	SHRQ $36, R8
	VMOVQ R8, X2
	VPBROADCASTQ X2, Y2
	VPCMPEQQ Y0, Y2, Y0
	VPCMPEQQ Y1, Y2, Y1
	VMOVMSKPD Y0, AX
	VMOVMSKPD Y1, BX
	SHLL $4, BX
	ORL  BX, AX
	MOVL AX, BX
	ORL  $256, BX
	TZCNTL BX, BX
	ANDL $7, BX
	MOVQ (DX)(BX*8), BX
	TESTL AX, AX
	CMOVQEQ R12, BX
	MOVQ BX, 16(SI)
	ADDQ $40, SI
	JMP  next

done:
	VZEROUPPER
	RET
