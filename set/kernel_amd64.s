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

#define READ_LINE PREFETCHT0 (DI)(DX*1)

// PREFETCHW (DI)(DX*1), which the assembler has no name for.
#define WRITE_LINE BYTE $0x0F; BYTE $0x0D; BYTE $0x0C; BYTE $0x17

// START takes the next word into slot R9: hash, home line, prefetch.
#define START(PREFETCH) \
	MOVQ  (SI)(R12*8), BX   \
	HASH                    \
	MULQ  WORK_LINES(CX)    \
	SHLQ  $6, DX            \
	PREFETCH                \
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
#define KERNEL(SCAN, PREFETCH) \
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
	START(PREFETCH)           \
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
	START(PREFETCH)           \
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
	PREFETCH                  \
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
	KERNEL(SCAN512, READ_LINE)

// func searchAVX512Write(w *kernelWork)
TEXT ·searchAVX512Write(SB), 0, $1024-8
	VPXOR Y5, Y5, Y5
	KERNEL(SCAN512, WRITE_LINE)

// func searchAVX2(w *kernelWork)
TEXT ·searchAVX2(SB), 0, $1024-8
	KERNEL(SCAN256, READ_LINE)

// func searchAVX2Write(w *kernelWork)
TEXT ·searchAVX2Write(SB), 0, $1024-8
	KERNEL(SCAN256, WRITE_LINE)

// func insertFirst(f *firstLine, word uint64) end
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

// The layout of elementWork and of a flight of it; a test keeps it in step.
#define ELEM_BASE 0
#define ELEM_LINES 8
#define ELEM_ITEMS 16
#define ELEM_RESULTS 24
#define ELEM_REFS 32
#define ELEM_N 40
#define ELEM_SLOTS 48
#define ELEM_LIMIT 56
#define ELEM_CHUNK 64
#define ELEM_INSERT 72
#define ELEM_END 80
#define ELEM_WHOLE 88
#define ELEM_BYTES 96
#define ELEM_CROSSES 104
#define ELEM_WRITE 112
#define ELEM_SEGMENTS 120
#define ELEM_RANKBITS 128
#define ELEM_RANKMASK 136
#define ELEM_FREE 144
#define ELEM_FREEEND 152
#define ELEM_NOFREE 160
#define ELEM_NEXT 168
#define ELEM_VISIT 176
#define ELEM_FLYING 184
#define ELEM_ABSENT 192
#define ELEM_LEFT 200
#define ELEM_LOST 208
#define ELEM_EXTRA 216
#define ELEM_MOST 224
#define ELEM_PERRANK 232
#define ELEM_RING 240
#define SLOT_AT 16
#define SLOT_BUCKET 24
#define SLOT_BYTES 32

// The bits of a bucket below the fingerprint.
#define REF_BITS 36

// The digits of pi of hashElement.
#define PI0 $0x243F6A8885A308D3
#define PI1 $0x13198A2E03707344
#define PI2 $0xA4093822299F31D0
#define PI3 $0x082EFA98EC4E6C89

// FOLD multiplies AX by BX, and makes AX and BX the one half of the product and the other, xored.
#define FOLD \
	MULQ BX     \
	XORQ DX, AX \
	MOVQ AX, BX

// HASH_NEXT makes R8 the hash of element R12, if there is one. It has hashElement written out, with
// its own names for labels. No store waits for it before the next locked instruction, which would
// wait for the store.
#define HASH_NEXT(pair, odd, last, end) \
	CMPQ  R12, ELEM_N(CX)      \
	JGE   end                  \
	MOVQ  R12, R15             \
	MOVQ  ELEM_BYTES(CX), R14  \
	IMULQ R14, R15             \
	ADDQ  SI, R15              \
	ADDQ  R15, R14             \
	MOVQ  PI0, BX              \
pair:                          \
	LEAQ  16(R15), BP          \
	CMPQ  BP, R14              \
	JHI   odd                  \
	MOVQ  PI1, AX              \
	XORQ  (R15), AX            \
	XORQ  8(R15), BX           \
	FOLD                       \
	MOVQ  BP, R15              \
	JMP   pair                 \
odd:                           \
	MOVQ  PI2, BP              \
	XORQ  BP, BX               \
	CMPQ  R15, R14             \
	JEQ   last                 \
	MOVQ  PI1, AX              \
	XORQ  (R15), AX            \
	FOLD                       \
	XORQ  BP, BX               \
last:                          \
	MOVQ  PI3, AX              \
	FOLD                       \
	MOVQ  BX, R8               \
end:

// BEGIN takes element R12 into flight R9: home line, prefetch.
#define BEGIN(write, begun) \
	MOVQ  R8, SLOT_BUCKET(R9)  \
	MOVQ  R8, AX               \
	MULQ  ELEM_LINES(CX)       \
	SHLQ  $6, DX               \
	CMPQ  ELEM_WRITE(CX), $0   \
	JNE   write                \
	READ_LINE                  \
	JMP   begun                \
write:                         \
	WRITE_LINE                 \
begun:                         \
	MOVQ  DX, FLY_LINE(R9)     \
	MOVQ  R12, FLY_INDEX(R9)   \
	MOVQ  $0, SLOT_AT(R9)      \
	INCQ  R12

// ANSWER stores the result of flight R9.
#define ANSWER(result) \
	MOVQ ELEM_RESULTS(CX), R15 \
	MOVL FLY_INDEX(R9), AX     \
	MOVB $result, (R15)(AX*1)

// SLOT makes R15 the address of the slot with the reference AX, and jumps if it is not directly
// addressable, or does not exist. AX and BP are used.
#define SLOT(none) \
	MOVQ  AX, BP                \
	ANDQ  ELEM_RANKMASK(CX), BP \
	LEAQ  (BP)(BP*2), BP        \
	MOVQ  ELEM_SEGMENTS(CX), R15 \
	MOVQ  (R15)(BP*8), R15      \
	TESTQ R15, R15              \
	JEQ   none                  \
	MOVQ  ELEM_RANKBITS(CX), BP \
	SHRXQ BP, AX, AX            \
	CMPQ  AX, ELEM_PERRANK(CX)  \
	JCC   none                  \
	IMULQ ELEM_BYTES(CX), AX    \
	ADDQ  AX, R15

// ITEM makes AX the address of the element of flight R9, and BP the number of its words.
#define ITEM \
	MOVL  FLY_INDEX(R9), AX  \
	MOVQ  ELEM_BYTES(CX), BP \
	IMULQ BP, AX             \
	ADDQ  SI, AX             \
	SHRQ  $3, BP

// NAME stores the reference of bucket R14 as the one of flight R9, if references are wanted.
#define NAME \
	MOVQ ELEM_REFS(CX), R15 \
	TESTQ R15, R15          \
	JEQ  refill             \
	SHLQ $(64-REF_BITS), R14 \
	SHRQ $(64-REF_BITS), R14 \
	MOVL FLY_INDEX(R9), AX  \
	MOVQ R14, (R15)(AX*8)

// func searchShort(w *elementWork)
TEXT ·searchShort(SB), 0, $16-8
	MOVQ w+0(FP), CX
	MOVQ ELEM_BASE(CX), DI
	MOVQ ELEM_ITEMS(CX), SI
	MOVQ ELEM_NEXT(CX), R12
	MOVQ ELEM_FREE(CX), R13
	VPXOR Y5, Y5, Y5
	LEAQ ELEM_RING(CX), R10
	MOVQ ELEM_VISIT(CX), R9
	MOVQ ELEM_FLYING(CX), R11
	ADDQ R10, R9
	ADDQ R10, R11
	HASH_NEXT(firstPair, firstOdd, firstLast, firstEnd)
	CMPQ R10, R11
	JNE  visit // it continues
	MOVQ ELEM_SLOTS(CX), R11
	SHLQ $5, R11
	ADDQ R10, R11

fill:
	CMPQ R12, ELEM_N(CX)
	JGE  filled
	CMPQ R9, R11
	JGE  filled
	BEGIN(fillWrite, fillBegun)
	HASH_NEXT(fillPair, fillOdd, fillLast, fillEnd)
	ADDQ $SLOT_BYTES, R9
	JMP  fill

filled:
	MOVQ R9, R11
	MOVQ R10, R9

visit:
	MOVQ SLOT_AT(R9), R15
	TESTQ R15, R15
	JNE  compare
	MOVQ FLY_LINE(R9), DX
	MOVQ SLOT_BUCKET(R9), BX
	SHLQ $REF_BITS, BX
	BTSQ $63, BX

again:
	VMOVDQU   (DI)(DX*1), Y0
	VMOVDQU   32(DI)(DX*1), Y1
	VMOVMSKPD Y0, AX
	VMOVMSKPD Y1, R14
	SHLL      $4, R14
	ORL       AX, R14
	XORL      $255, R14 // the empty buckets
	VMOVQ     BX, X2
	VPBROADCASTQ X2, Y2
	VPXOR     Y0, Y2, Y0
	VPXOR     Y1, Y2, Y1
	VPSRLQ    $REF_BITS, Y0, Y0
	VPSRLQ    $REF_BITS, Y1, Y1
	VPCMPEQQ  Y0, Y5, Y0
	VPCMPEQQ  Y1, Y5, Y1
	VMOVMSKPD Y0, AX
	VMOVMSKPD Y1, BP
	SHLL      $4, BP
	ORL       BP, AX // the buckets with the fingerprint
	JNE       candidate
	TESTL     R14, R14
	JEQ       full
	TZCNTL    R14, R14
	LEAQ      (DX)(R14*8), R14
	ADDQ      DI, R14 // the first empty bucket
	CMPQ      ELEM_INSERT(CX), $0
	JEQ       absent

	CMPQ R13, ELEM_FREEEND(CX)
	JEQ  pause
	MOVQ (R13), AX
	ORQ  AX, BX
	SLOT(left)
	ITEM

store:
	DECQ  BP
	VMOVQ (AX)(BP*8), X6
	VMOVQ X6, (R15)(BP*8)
	JNE   store
	XORQ  AX, AX
	LOCK
	CMPXCHGQ BX, (R14)
	JNE  lost
	ADDQ $8, R13
	ANSWER(3)
	MOVQ BX, R14
	NAME

refill:
	CMPQ R12, ELEM_N(CX)
	JGE  drain
	BEGIN(nextWrite, nextBegun)
	HASH_NEXT(nextPair, nextOdd, nextLast, nextEnd)

advance:
	ADDQ $SLOT_BYTES, R9
	CMPQ R9, R11
	JLT  visit
	MOVQ R10, R9
	JMP  visit

candidate:
	TZCNTL AX, AX
	LEAQ (DX)(AX*8), AX
	MOVQ (DI)(AX*1), AX
	MOVQ AX, SLOT_BUCKET(R9)
	SHLQ $(64-REF_BITS), AX
	SHRQ $(64-REF_BITS), AX
	SLOT(left)
	PREFETCHT0 (R15)
	MOVQ R15, SLOT_AT(R9)
	CMPQ ELEM_CROSSES(CX), $0
	JEQ  advance
	MOVQ ELEM_BYTES(CX), AX
	PREFETCHT0 -8(R15)(AX*1)
	JMP  advance

compare:
	ITEM

word:
	MOVQ -8(AX)(BP*8), DX
	CMPQ DX, -8(R15)(BP*8)
	JNE  left
	DECQ BP
	JNE  word
	ANSWER(2)
	MOVQ SLOT_BUCKET(R9), R14
	NAME
	JMP  refill

lost:
	TESTQ AX, AX
	JNS  left
	INCQ ELEM_LOST(CX)
	JMP  again // with the same slot

absent:
	CMPQ (R14), $1
	JEQ  left
	INCQ ELEM_ABSENT(CX)
	ANSWER(1)
	JMP  refill

full:
	MOVL FLY_EXAMINED(R9), AX
	INCL AX
	CMPQ AX, ELEM_LIMIT(CX)
	JEQ  left
	MOVL AX, FLY_EXAMINED(R9)
	CMPQ AX, ELEM_MOST(CX)
	JLS  shorter
	MOVQ AX, ELEM_MOST(CX)

shorter:
	TESTQ ELEM_CHUNK(CX), AX
	JNE  within
	INCQ ELEM_EXTRA(CX)

within:
	ADDQ $64, DX
	CMPQ DX, ELEM_END(CX)
	JNE  inside
	XORQ DX, DX
	CMPQ ELEM_WHOLE(CX), $0
	JEQ  left

inside:
	PREFETCHT0 (DI)(DX*1)
	MOVQ DX, FLY_LINE(R9)
	JMP  advance

pause:
	CMPQ ELEM_NOFREE(CX), $0
	JNE  left
	JMP  leave

left:
	INCQ ELEM_LEFT(CX)
	MOVQ ELEM_CHUNK(CX), BP // what elementSearch will count
	POPCNTQ BP, BP
	MOVL FLY_EXAMINED(R9), AX
	SHRXQ BP, AX, AX
	SUBQ AX, ELEM_EXTRA(CX)
	ANSWER(5)
	JMP  refill

drain:
	SUBQ $SLOT_BYTES, R11
	CMPQ R10, R11
	JEQ  end
	CMPQ R9, R11
	JEQ  turn
	VMOVDQU (R11), Y0
	VMOVDQU Y0, (R9)
	JMP  visit

turn:
	MOVQ R10, R9
	JMP  visit

end:
	MOVQ R10, R9

leave:
	MOVQ R12, ELEM_NEXT(CX)
	MOVQ R13, ELEM_FREE(CX)
	SUBQ R10, R9
	SUBQ R10, R11
	MOVQ R9, ELEM_VISIT(CX)
	MOVQ R11, ELEM_FLYING(CX)
	VZEROUPPER
	RET
