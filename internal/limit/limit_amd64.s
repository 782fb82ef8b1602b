#include "textflag.h"

#define READ_LINE PREFETCHT0 (DI)(DX*8)

// PREFETCHW (DI)(DX*8), which the assembler has no name for.
#define WRITE_LINE BYTE $0x0F; BYTE $0x0D; BYTE $0x0C; BYTE $0xD7

// ARGUMENTS: R9 is at, from the place on that is prefetched with the first one.
#define ARGUMENTS \
	MOVQ flat+0(FP), DI   \
	MOVQ at+8(FP), SI     \
	MOVQ n+16(FP), CX     \
	MOVQ ahead+24(FP), R9 \
	LEAQ (SI)(R9*8), R9   \
	XORQ BX, BX

#define SWAPS(PREFETCH) \
	ARGUMENTS                \
swap:                        \
	CMPQ BX, CX              \
	JGE  swapped             \
	MOVQ (R9)(BX*8), DX      \
	PREFETCH                 \
	MOVQ (SI)(BX*8), DX      \
	LEAQ 1(DX), R8           \
	XORL AX, AX              \
	LOCK                     \
	CMPXCHGQ R8, (DI)(DX*8)  \
	INCQ BX                  \
	JMP  swap                \
swapped:                     \
	RET

#define READS(PREFETCH) \
	ARGUMENTS                \
	XORQ AX, AX              \
read:                        \
	CMPQ BX, CX              \
	JGE  sum                 \
	MOVQ (R9)(BX*8), DX      \
	PREFETCH                 \
	MOVQ (SI)(BX*8), DX      \
	ADDQ (DI)(DX*8), AX      \
	INCQ BX                  \
	JMP  read                \
sum:                         \
	MOVQ AX, ret+32(FP)      \
	RET

// func swapAhead(flat, at *uint64, n, ahead int)
TEXT ·swapAhead(SB), NOSPLIT, $0-32
	SWAPS(READ_LINE)

// func swapAheadWrite(flat, at *uint64, n, ahead int)
TEXT ·swapAheadWrite(SB), NOSPLIT, $0-32
	SWAPS(WRITE_LINE)

// func readAhead(flat, at *uint64, n, ahead int) uint64
TEXT ·readAhead(SB), NOSPLIT, $0-40
	READS(READ_LINE)

// func readAheadWrite(flat, at *uint64, n, ahead int) uint64
TEXT ·readAheadWrite(SB), NOSPLIT, $0-40
	READS(WRITE_LINE)
