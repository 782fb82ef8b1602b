#include "textflag.h"

// The layout of kernelWork; a test keeps it in step.
#define WORK_BASE 0
#define WORK_LINES 8
#define WORK_WORDS 16
#define WORK_RESULTS 24
#define WORK_N 32
#define WORK_SLOTS 40
#define WORK_LIMIT 48
#define WORK_CHUNK 56
#define WORK_INSERT 64
#define WORK_END 72
#define WORK_WHOLE 80
#define WORK_LIMITED 88
#define WORK_ENDED 96
#define WORK_FULL 104
#define WORK_UNFINISHED 112
#define WORK_BEYOND 120
#define WORK_LOST 128
#define WORK_EXTRA 136
#define WORK_MOST 144

// The layout of firstLine, and a stripe by the address of the stack, as in core.Stripe.
#define FIRST_BASE 0
#define FIRST_LINES 8
#define FIRST_COUNTS 16
#define FIRST_AVX512 24
#define STACK_BITS 13
#define STRIPES 16

// A flight is one search: the byte offset of the line that it examines next, the number of the
// word in the batch, and the lines examined before. The ring of flights lies in the frame, where
// nobody has to clear it.
#define RING_BYTES 1024
#define FLY_LINE 0
#define FLY_INDEX 8
#define FLY_EXAMINED 12
#define FLY_BYTES 16

// Registers: CX work, DI buckets, SI words, R8 results, R9 the slot visited, R10
// first slot, R11 end of the slots in use, R12 next word, R13 searches ended at an empty
// bucket, R15 hash factor; BX the word searched, DX byte offset of its line.
//
// What a search stores counts: a locked instruction waits for all stores before it. A search
// that ends in its first line stores its line, its number and its result.

// HASH hashes the word BX into AX.
#define HASH \
	MOVQ  BX, AX  \
	SHRQ  $32, AX \
	XORQ  BX, AX  \
	IMULQ R15, AX \
	MOVQ  AX, DX  \
	SHRQ  $32, DX \
	XORQ  DX, AX  \
	IMULQ R15, AX

// START takes the next word into slot R9: hash, home line, prefetch.
#define START \
	MOVQ  (SI)(R12*8), BX   \
	HASH                    \
	MULQ  WORK_LINES(CX)    \
	SHLQ  $6, DX            \
	PREFETCHT0 (DI)(DX*1)   \
	MOVQ  DX, FLY_LINE(R9)  \
	MOVQ  R12, FLY_INDEX(R9) \
	INCQ  R12

// SCAN512 compares the line at DI+DX: bits of AX where it equals BX, of R14 where it
// is not occupied, as then it is not negative. Z5 is zero.
#define SCAN512 \
	VMOVDQU64    (DI)(DX*1), Z0 \
	VPBROADCASTQ BX, Z1     \
	VPCMPEQQ     Z0, Z1, K1 \
	VPCMPQ       $5, Z5, Z0, K2 \
	KMOVB        K1, AX     \
	KMOVB        K2, R14

// SCAN256 does the same with two halves.
#define SCAN256 \
	VMOVDQU      (DI)(DX*1), Y0   \
	VMOVDQU      32(DI)(DX*1), Y1 \
	VMOVQ        BX, X2           \
	VPBROADCASTQ X2, Y2           \
	VMOVMSKPD    Y1, R14          \
	SHLL         $4, R14          \
	VMOVMSKPD    Y0, AX           \
	ORL          AX, R14          \
	XORL         $255, R14        \
	VPCMPEQQ     Y0, Y2, Y3       \
	VPCMPEQQ     Y1, Y2, Y4       \
	VPOR         Y3, Y4, Y3       \
	VPMOVMSKB    Y3, AX

// FINISH stores the result of slot R9.
#define FINISH(result) \
	MOVL FLY_INDEX(R9), AX     \
	MOVB $result, (R8)(AX*1)

#define ADVANCE \
	ADDQ $FLY_BYTES, R9 \
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
	LEAQ ring-RING_BYTES(SP), R10 \
	MOVQ WORK_SLOTS(CX), R11  \
	SHLQ $4, R11              \
	ADDQ R10, R11             \
	XORQ R12, R12             \
	XORQ R13, R13             \
	MOVQ $0x9E3779B97F4A7C15, R15 \
	MOVQ R10, R9              \
fill:                         \
	CMPQ R12, WORK_N(CX)      \
	JGE  filled               \
	CMPQ R9, R11              \
	JGE  filled               \
	START                     \
	ADDQ $FLY_BYTES, R9       \
	JMP  fill                 \
filled:                       \
	MOVQ R9, R11              \
	CMPQ R10, R11             \
	JEQ  end                  \
	MOVQ R10, R9              \
visit:                        \
	MOVL FLY_INDEX(R9), AX    \
	MOVQ FLY_LINE(R9), DX     \
	MOVQ (SI)(AX*8), BX       \
	BTSQ $63, BX              \
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
	INCQ R13                  \
	FINISH(3)                 \
refill:                       \
	CMPQ R12, WORK_N(CX)      \
	JGE  drain                \
	START                     \
	ADVANCE                   \
lost:                         \
	TESTQ AX, AX              \
	JNS  closed               \
	INCQ WORK_LOST(CX)        \
	CMPQ AX, BX               \
	JNE  again                \
found:                        \
	FINISH(2)                 \
	JMP  refill               \
absent:                       \
	TZCNTL R14, R14           \
	LEAQ (DI)(R14*8), R14     \
	CMPQ (R14)(DX*1), $1      \
	JEQ  closed               \
	INCQ R13                  \
	FINISH(1)                 \
	JMP  refill               \
next:                         \
	MOVL FLY_EXAMINED(R9), AX \
	INCL AX                   \
	MOVL AX, FLY_EXAMINED(R9) \
	CMPQ AX, WORK_MOST(CX)    \
	JLS  shorter              \
	MOVQ AX, WORK_MOST(CX)    \
shorter:                      \
	CMPQ AX, WORK_LIMIT(CX)   \
	JEQ  full                 \
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
closed:                       \
	INCQ WORK_BEYOND(CX)      \
	FINISH(6)                 \
	JMP  refill               \
full:                         \
	INCQ WORK_FULL(CX)        \
	MOVQ WORK_LIMITED(CX), R14 \
	MOVL FLY_INDEX(R9), AX    \
	MOVB R14, (R8)(AX*1)      \
	JMP  refill               \
unfinished:                   \
	INCQ WORK_UNFINISHED(CX)  \
	FINISH(5)                 \
	JMP  refill               \
drain:                        \
	SUBQ $FLY_BYTES, R11      \
	CMPQ R10, R11             \
	JEQ  end                  \
	CMPQ R9, R11              \
	JEQ  turn                 \
	MOVQ FLY_LINE(R11), AX    \
	MOVQ AX, FLY_LINE(R9)     \
	MOVQ FLY_INDEX(R11), AX   \
	MOVQ AX, FLY_INDEX(R9)    \
	JMP  visit                \
turn:                         \
	MOVQ R10, R9              \
	JMP  visit                \
end:                          \
	MOVQ R13, WORK_ENDED(CX)  \
	VZEROUPPER                \
	RET

// FIRST searches the first line of one word, and counts it if it is inserted. CX has firstLine.
#define FIRST(SCAN) \
	MOVQ word+8(FP), BX     \
	MOVQ FIRST_BASE(CX), DI \
	MOVQ $0x9E3779B97F4A7C15, R15 \
	HASH                    \
	MULQ FIRST_LINES(CX)    \
	SHLQ $6, DX             \
	BTSQ $63, BX            \
	JCS  leave              \
	SCAN                    \
	VZEROUPPER              \
	TESTL AX, AX            \
	JNE  found              \
	TESTL R14, R14          \
	JEQ  leave              \
	TZCNTL R14, R14         \
	LEAQ (DI)(R14*8), R14   \
	XORQ AX, AX             \
	LOCK                    \
	CMPXCHGQ BX, (R14)(DX*1) \
	JNE  lost               \
	MOVQ FIRST_COUNTS(CX), DI \
	LEAQ f+0(FP), AX        \
	SHRQ $STACK_BITS, AX    \
	ANDL $(STRIPES-1), AX   \
	SHLQ $6, AX             \
	LOCK                    \
	INCQ (DI)(AX*1)         \
	MOVB $3, ret+16(FP)     \
	RET

// func searchAVX512(w *kernelWork)
TEXT ·searchAVX512(SB), 0, $1024-8
	VPXOR Y5, Y5, Y5
	KERNEL(SCAN512)

// func searchAVX2(w *kernelWork)
TEXT ·searchAVX2(SB), 0, $1024-8
	KERNEL(SCAN256)

// func insertFirst(f *firstLine, word uint64) Result
TEXT ·insertFirst(SB), NOSPLIT, $0-17
	MOVQ f+0(FP), CX
	CMPB FIRST_AVX512(CX), $0
	JEQ  avx2
	VPXOR Y5, Y5, Y5
	FIRST(SCAN512)

avx2:
	FIRST(SCAN256)

found:
	MOVB $2, ret+16(FP)
	RET
lost:
	TESTQ AX, AX
	JNS  leave
	MOVB $7, ret+16(FP)
	RET
leave:
	MOVB $5, ret+16(FP)
	RET

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
