// What the test programs share: a claim that does not hold ends the program.

#ifndef TRY_H
#define TRY_H

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "farhash.h"

#define CLAIM(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: not so: %s; the last error: %s\n", __FILE__, __LINE__, #what, \
				farhash_last_error()); \
			exit(1); \
		} \
	} while (0)

// IS claims that a call gives a result.
#define IS(want, call) \
	do { \
		long got_ = (long)(call), want_ = (long)(want); \
		if (got_ != want_) { \
			fprintf(stderr, "%s:%d: %s is %ld, want %ld; the last error: %s\n", __FILE__, __LINE__, \
				#call, got_, want_, farhash_last_error()); \
			exit(1); \
		} \
	} while (0)

#define OK(call) IS(FARHASH_OK, call)

// FAILS claims that a call fails with a code, and says why in words that contain some.
#define FAILS(code, words, call) \
	do { \
		IS(code, call); \
		CLAIM(strstr(farhash_last_error(), words)); \
	} while (0)

// mix spreads numbers.
static inline uint64_t mix(uint64_t n) {
	n = (n + 1) * 0x9E3779B97F4A7C15;
	return (n ^ n >> 29) * 0xBF58476D1CE4E5B9;
}

// fill makes bytes of a number.
static inline void fill(void *to, size_t bytes, uint64_t seed) {
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)to)[i] = (uint8_t)(mix(seed + i / 8) >> i % 8 * 8);
}

#endif
