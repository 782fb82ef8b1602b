#include "textflag.h"

// The layout of kernelWork and flight; a test keeps it in step.
#define WORK_BASE 0
#define WORK_LINES 8
#define WORK_WORDS 16
#define WORK_RESULTS 24
#define WORK_N 32
#define WORK_RING 40
#define WORK_SLOTS 48
#define WORK_LIMIT 56
#define WORK_CHUNK 64
#define WORK_INSERT 72
#define WORK_INSERTED 80
#define WORK_FOUND 88
#define WORK_NOTFOUND 96
#define WORK_FULL 104
#define WORK_LOST 112
#define WORK_EXTRA 120
#define WORK_MINLEFT 128
#define WORK_END 136
#define WORK_WHOLE 144
#define WORK_UNFINISHED 152

#define FLY_BITS 0
#define FLY_LINE 8
#define FLY_INDEX 16
#define FLY_LEFT 24

// Registers: CX work, DI buckets, SI words, R8 results, R9 the slot visited, R10
// first slot, R11 end of the slots in use, R12 next word, R13 number of words,
// R15 hash factor; BX the word searched, DX byte offset of its line.

// START takes the next word into slot R9: hash, home line, prefetch.
#define START \
	MOVQ  (SI)(R12*8), BX   \
	MOVQ  BX, AX            \
	SHRQ  $32, AX           \
	XORQ  BX, AX            \
	IMULQ R15, AX           \
	MOVQ  AX, DX            \
	SHRQ  $32, DX           \
	XORQ  DX, AX            \
	IMULQ R15, AX           \
	MULQ  WORK_LINES(CX)    \
	SHLQ  $6, DX            \
	PREFETCHT0 (DI)(DX*1)   \
	BTSQ  $63, BX           \
	MOVQ  BX, FLY_BITS(R9)  \
	MOVQ  DX, FLY_LINE(R9)  \
	MOVQ  R12, FLY_INDEX(R9) \
	MOVQ  WORK_LIMIT(CX), AX \
	MOVQ  AX, FLY_LEFT(R9)  \
	INCQ  R12

// SCAN512 compares the line at DI+DX: bits of AX where it equals BX, of R14 where it
// is empty.
#define SCAN512 \
	VMOVDQU64    (DI)(DX*1), Z0 \
	VPBROADCASTQ BX, Z1     \
	VPCMPEQQ     Z0, Z1, K1 \
	VPTESTNMQ    Z0, Z0, K2 \
	KMOVB        K1, AX     \
	KMOVB        K2, R14

// SCAN256 does the same with two halves. Y5 is zero.
#define SCAN256 \
	VMOVDQU      (DI)(DX*1), Y0   \
	VMOVDQU      32(DI)(DX*1), Y1 \
	VMOVQ        BX, X2           \
	VPBROADCASTQ X2, Y2           \
	VPCMPEQQ     Y0, Y5, Y3       \
	VPCMPEQQ     Y1, Y5, Y4       \
	VMOVMSKPD    Y4, R14          \
	SHLL         $4, R14          \
	VMOVMSKPD    Y3, AX           \
	ORL          AX, R14          \
	VPCMPEQQ     Y0, Y2, Y3       \
	VPCMPEQQ     Y1, Y2, Y4       \
	VPOR         Y3, Y4, Y3       \
	VPMOVMSKB    Y3, AX

// FINISH stores the result of slot R9.
#define FINISH(counter, result) \
	INCQ counter(CX)           \
	MOVQ FLY_INDEX(R9), AX     \
	MOVB $result, (R8)(AX*1)

#define ADVANCE \
	ADDQ $32, R9  \
	CMPQ R9, R11  \
	JLT  visit    \
	MOVQ R10, R9  \
	JMP  visit

// KERNEL is the search loop around a way to scan a line.
#define KERNEL(SCAN) \
	MOVQ w+0(FP), CX          \
	MOVQ WORK_BASE(CX), DI    \
	MOVQ WORK_WORDS(CX), SI   \
	MOVQ WORK_RESULTS(CX), R8 \
	MOVQ WORK_N(CX), R13      \
	MOVQ WORK_RING(CX), R10   \
	MOVQ WORK_SLOTS(CX), R11  \
	SHLQ $5, R11              \
	ADDQ R10, R11             \
	XORQ R12, R12             \
	MOVQ $0x9E3779B97F4A7C15, R15 \
	MOVQ R10, R9              \
fill:                         \
	CMPQ R12, R13             \
	JGE  filled               \
	CMPQ R9, R11              \
	JGE  filled               \
	START                     \
	ADDQ $32, R9              \
	JMP  fill                 \
filled:                       \
	MOVQ R9, R11              \
	CMPQ R10, R11             \
	JEQ  end                  \
	MOVQ R10, R9              \
visit:                        \
	MOVQ FLY_BITS(R9), BX     \
	MOVQ FLY_LINE(R9), DX     \
again:                        \
	SCAN                      \
	TESTL AX, AX              \
	JNE  found                \
	TESTL R14, R14            \
	JEQ  next                 \
	CMPQ WORK_INSERT(CX), $0  \
	JEQ  absent               \
	TZCNTL R14, R14           \
	LEAQ (DI)(R14*8), R14     \
	XORQ AX, AX               \
	LOCK                      \
	CMPXCHGQ BX, (R14)(DX*1)  \
	JNE  lost                 \
	FINISH(WORK_INSERTED, 2)  \
refill:                       \
	MOVQ FLY_LEFT(R9), AX     \
	CMPQ AX, WORK_MINLEFT(CX)   \
	JLT  longest              \
refill2:                      \
	CMPQ R12, R13             \
	JGE  drain                \
	START                     \
	ADVANCE                   \
longest:                      \
	MOVQ AX, WORK_MINLEFT(CX)   \
	JMP  refill2              \
lost:                         \
	INCQ WORK_LOST(CX)        \
	CMPQ AX, BX               \
	JNE  again                \
found:                        \
	FINISH(WORK_FOUND, 1)     \
	JMP  refill               \
absent:                       \
	FINISH(WORK_NOTFOUND, 0)  \
	JMP  refill               \
next:                         \
	DECQ FLY_LEFT(R9)         \
	JEQ  full                 \
	MOVQ WORK_LIMIT(CX), AX   \
	SUBQ FLY_LEFT(R9), AX     \
	TESTQ WORK_CHUNK(CX), AX  \
	JNE  within               \
	INCQ WORK_EXTRA(CX)       \
within:                       \
	ADDQ $64, DX              \
	CMPQ DX, WORK_END(CX)     \
	JNE  inside               \
	XORQ DX, DX               \
	CMPQ WORK_WHOLE(CX), $0   \
	JEQ  unfinished           \
inside:                       \
	PREFETCHT0 (DI)(DX*1)     \
	MOVQ DX, FLY_LINE(R9)     \
	ADVANCE                   \
full:                         \
	CMPQ WORK_INSERT(CX), $0  \
	JEQ  absent               \
	FINISH(WORK_FULL, 3)      \
	JMP  refill               \
unfinished:                   \
	FINISH(WORK_UNFINISHED, 4) \
	JMP  refill               \
drain:                        \
	SUBQ $32, R11             \
	CMPQ R10, R11             \
	JEQ  end                  \
	CMPQ R9, R11              \
	JEQ  turn                 \
	MOVQ FLY_BITS(R11), AX    \
	MOVQ AX, FLY_BITS(R9)     \
	MOVQ FLY_LINE(R11), AX    \
	MOVQ AX, FLY_LINE(R9)     \
	MOVQ FLY_INDEX(R11), AX   \
	MOVQ AX, FLY_INDEX(R9)    \
	MOVQ FLY_LEFT(R11), AX    \
	MOVQ AX, FLY_LEFT(R9)     \
	JMP  visit                \
turn:                         \
	MOVQ R10, R9              \
	JMP  visit                \
end:                          \
	VZEROUPPER                \
	RET

// func searchAVX512(w *kernelWork)
TEXT ·searchAVX512(SB), NOSPLIT, $0-8
	KERNEL(SCAN512)

// func searchAVX2(w *kernelWork)
TEXT ·searchAVX2(SB), NOSPLIT, $0-8
	VPXOR Y5, Y5, Y5
	KERNEL(SCAN256)
