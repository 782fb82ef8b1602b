#include "textflag.h"

// Digits of pi as in layout.go.
DATA pi<>+0(SB)/8, $0x243F6A8885A308D3
DATA pi<>+8(SB)/8, $0x13198A2E03707344
DATA pi<>+16(SB)/8, $0xA4093822299F31D0
DATA pi<>+24(SB)/8, $0x082EFA98EC4E6C89
DATA pi<>+32(SB)/8, $0x452821E638D01377
DATA pi<>+40(SB)/8, $0xBE5466CF34E90C6C
DATA pi<>+48(SB)/8, $0xC0AC29B7C97C50DD
DATA pi<>+56(SB)/8, $0x3F84D5B5B5470917
DATA pi<>+64(SB)/8, $0x9E3779B97F4A7C15 // rankFactor
GLOBL pi<>(SB), RODATA|NOPTR, $72

// FOLD adds to CX the fold of the words in DX and AX, with two digits of pi.
#define FOLD(digits) \
	XORQ pi<>+digits(SB), DX; \
	XORQ pi<>+digits+8(SB), AX; \
	MULXQ AX, AX, BX; \
	XORQ AX, BX; \
	ADDQ BX, CX

// READ folds two words at SI.
#define READ(off, digits) \
	MOVQ off(SI), DX; \
	MOVQ off+8(SI), AX; \
	FOLD(digits)

// COPY does so too, and stores what it has read at R11.
#define COPY(off, digits) \
	MOVQ off(SI), DX; \
	MOVQ off+8(SI), AX; \
	MOVQ DX, off(R11); \
	MOVQ AX, off+8(R11); \
	FOLD(digits)

#define READLAST MOVQ (SI), DX
#define COPYLAST MOVQ (SI), DX; MOVQ DX, (R11)
#define STAY(bytes) ADDQ $bytes, SI
#define MOVE(bytes) ADDQ $bytes, SI; ADDQ $bytes, R11

// SUM is sum in layout.go: of R8 words at SI onto CX. SI ends after them.
#define SUM(PAIR, LAST, STEP) \
sum8: \
	SUBQ $8, R8; \
	JLT  sum4; \
	PAIR(0, 0); \
	PAIR(16, 16); \
	PAIR(32, 32); \
	PAIR(48, 48); \
	IMULQ pi<>+24(SB), CX; \
	STEP(64); \
	JMP  sum8; \
sum4: \
	TESTQ $4, R8; \
	JEQ  sum2; \
	PAIR(0, 32); \
	PAIR(16, 48); \
	STEP(32); \
sum2: \
	TESTQ $2, R8; \
	JEQ  sum1; \
	PAIR(0, 16); \
	STEP(16); \
sum1: \
	TESTQ $1, R8; \
	JEQ  summed; \
	LAST; \
	XORQ pi<>+0(SB), DX; \
	MULXQ pi<>+8(SB), AX, BX; \
	XORQ AX, BX; \
	ADDQ BX, CX; \
	STEP(8); \
summed:

// func hashFlights(w *kernelWork)
TEXT ·hashFlights(SB), NOSPLIT, $0-8
	MOVQ w+0(FP), DI
	MOVQ 0(DI), SI   // keys
	MOVQ 8(DI), R15  // n
	MOVQ 16(DI), R9  // flights

nextKey:
	DECQ R15
	JLT  hashed
	MOVQ 88(DI), R8  // words of a key
	MOVQ pi<>+40(SB), CX
	SUM(READ, READLAST, STAY)
	XORQ pi<>+48(SB), CX
	MOVQ CX, DX
	MULXQ pi<>+56(SB), AX, CX
	XORQ AX, CX
	MOVQ CX, 0(R9)

	MOVQ  CX, DX
	IMULQ pi<>+64(SB), DX
	MULXQ 40(DI), AX, R10 // rank
	MOVQ  24(DI), AX
	MOVQ  (AX)(R10*8), R10 // its first bucket
	MOVQ  CX, DX
	MULXQ 48(DI), AX, R11 // group
	IMULQ 56(DI), R11
	ADDQ  R11, R10        // the buckets of the group

	MOVWQZX CX, R12
	IMULQ 80(DI), R12
	SHRQ  $16, R12        // first
	IMULQ 72(DI), R12
	ADDQ  R10, R12
	MOVQ  R12, 8(R9)
	MOVQ  R10, 16(R9)
	ADDQ  $24, R9

	// A put examines the second candidate as well.
	CMPQ 64(DI), $0
	JEQ  onlyFirst
	MOVQ R12, R13
	ADDQ 72(DI), R13
	MOVQ 80(DI), AX
	IMULQ 72(DI), AX
	ADDQ R10, AX
	CMPQ R13, AX
	CMOVQEQ R10, R13
	PREFETCHT0 (R13)

onlyFirst:
	CMPQ 32(DI), $0
	JEQ  noLock
	PREFETCHT0 -8(R10)

noLock:
	MOVQ 96(DI), AX // lines
fetchFirst:
	PREFETCHT0 (R12)
	ADDQ $64, R12
	DECQ AX
	JGT  fetchFirst
	JMP  nextKey

hashed:
	RET

// func advanceFlights(w *kernelWork)
TEXT ·advanceFlights(SB), NOSPLIT, $0-8
	MOVQ w+0(FP), DI
	MOVQ 0(DI), SI
	MOVQ 8(DI), R15
	MOVQ 16(DI), R9
	MOVQ 88(DI), R8
	SHLQ $3, R8
	MOVQ 80(DI), R10
	IMULQ 72(DI), R10 // bytes of a group's buckets

nextAdvance:
	DECQ R15
	JLT  advanced
	MOVQ 8(R9), R12
	MOVQ 136(DI), AX
	MOVQ (R12)(AX*1), AX
	MOVQ R12, R13
	MOVQ 16(R9), BX
	ADDQ 72(DI), R13
	LEAQ (BX)(R10*1), CX // where the group ends
	CMPQ R13, CX
	CMOVQEQ BX, R13
	MOVQ (SI), DX
	ADDQ R8, SI
	CMPQ AX, DX
	CMOVQEQ R12, R13 // no branch: it cannot be predicted
	CMPQ 64(DI), $0
	JNE  isPut
	MOVQ R13, 8(R9)

isPut:
	ADDQ $24, R9
	MOVQ 96(DI), AX

fetchSecond:
	PREFETCHT0 (R13)
	ADDQ $64, R13
	DECQ AX
	JGT  fetchSecond
	JMP  nextAdvance

advanced:
	RET

// func takeFlights(w *kernelWork)
TEXT ·takeFlights(SB), NOSPLIT, $8-8
	MOVQ w+0(FP), DI
	MOVQ 0(DI), R10   // keys
	MOVQ 8(DI), R15   // n
	MOVQ 16(DI), R9   // flights
	MOVQ 104(DI), R11 // values
	MOVQ 120(DI), R12 // found

nextTake:
	DECQ R15
	JLT  taken
	MOVQ 8(R9), R14 // a bucket
	MOVQ 80(DI), CX // buckets left to examine

candidate:
	MOVQ R14, SI
	MOVQ (SI), R13 // checksum
	ADDQ 136(DI), SI
	CMPQ R13, $1
	JCS  notHere
	JEQ  another

	// Compare the key.
	MOVQ  88(DI), R8
	MOVQ  R10, BX
	VPXOR Y0, Y0, Y0
	XORQ  AX, AX

same4:
	SUBQ $4, R8
	JLT  same3
	VMOVDQU (SI), Y1
	VPXOR   (BX), Y1, Y1
	VPOR    Y1, Y0, Y0
	ADDQ $32, SI
	ADDQ $32, BX
	JMP  same4

same3:
	ADDQ $4, R8
	JEQ  sameDone
	CMPQ 88(DI), $4
	JLT  same1

	// The last words, with some before them once more.
	SHLQ $3, R8
	ADDQ R8, SI
	VMOVDQU -32(SI), Y1
	VPXOR   -32(BX)(R8*1), Y1, Y1
	VPOR    Y1, Y0, Y0
	JMP  sameDone

same1:
	MOVQ (SI), DX
	XORQ (BX), DX
	ORQ  DX, AX
	ADDQ $8, SI
	ADDQ $8, BX
	DECQ R8
	JGT  same1

sameDone:
	VPTEST Y0, Y0
	JNE  another
	TESTQ AX, AX
	JNE  another

	// Copy the value, and verify what was copied.
	MOVQ 112(DI), R8
	MOVQ 0(R9), CX
	CMPQ 136(DI), $16
	JNE  stays
	MOVQ 8(R14), AX // the expiry; 0 is never
	LEAQ -1(AX), BX
	CMPQ BX, 144(DI)
	JCS  notHere
	IMULQ pi<>+64(SB), AX
	ADDQ AX, CX

stays:
	MOVQ R11, values-8(SP)
	SUM(COPY, COPYLAST, MOVE)
	MOVQ values-8(SP), R11
	XORQ pi<>+16(SB), CX
	MOVQ CX, DX
	MULXQ pi<>+24(SB), AX, CX
	XORQ AX, CX
	LEAQ 2(CX), AX // none of the words that mark a bucket without content
	CMPQ CX, $1
	CMOVQLS AX, CX
	CMPQ CX, R13
	JNE  notHere
	MOVB $1, (R12)
	INCQ 128(DI)

notHere:
	MOVQ 88(DI), R8
	LEAQ (R10)(R8*8), R10
	MOVQ 112(DI), R8
	LEAQ (R11)(R8*8), R11
	ADDQ $24, R9
	INCQ R12
	JMP  nextTake

another:
	ADDQ 72(DI), R14
	MOVQ 80(DI), AX
	IMULQ 72(DI), AX
	MOVQ 16(R9), BX
	ADDQ BX, AX
	CMPQ R14, AX
	CMOVQEQ BX, R14
	DECQ CX
	JGT  candidate
	JMP  notHere

taken:
	VZEROUPPER
	RET
