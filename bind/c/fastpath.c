// The fast path of a cache, in plain memory or over MPI; main.go explains why it is here, and
// fastpath.go when it is used. The code repeats package cache: the hash, the layout, and the search
// of the first group of a key. TestFastPath compares the two.
//
// A call from C into Go costs 46 ns on an Intel Sapphire Rapids, nearly as much as a get: a
// find-or-put, which has no such path, takes 72 ns from C and 26 from Go, a get with it 57 and 58
// (make bench-clib).

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "library.h"

static const uint64_t pi0 = 0x243F6A8885A308D3, pi1 = 0x13198A2E03707344,
	pi2 = 0xA4093822299F31D0, pi3 = 0x082EFA98EC4E6C89, pi4 = 0x452821E638D01377,
	pi5 = 0xBE5466CF34E90C6C, pi6 = 0xC0AC29B7C97C50DD, pi7 = 0x3F84D5B5B5470917, golden = 0x9E3779B97F4A7C15;

enum { EMPTY = 0, INVALID = 1 };

static inline uint64_t high(uint64_t a, uint64_t b) {
	return (uint64_t)((unsigned __int128)a * b >> 64);
}

static inline uint64_t fold(uint64_t a, uint64_t b) { return high(a, b) ^ a * b; }

static inline uint64_t sum(uint64_t acc, const uint64_t *w, uint64_t n) {
	for (; n >= 8; n -= 8, w += 8) {
		acc += fold(w[0] ^ pi0, w[1] ^ pi1) + fold(w[2] ^ pi2, w[3] ^ pi3) +
			fold(w[4] ^ pi4, w[5] ^ pi5) + fold(w[6] ^ pi6, w[7] ^ pi7);
		acc *= pi3 | 1;
	}
	if (n >= 4) {
		acc += fold(w[0] ^ pi4, w[1] ^ pi5) + fold(w[2] ^ pi6, w[3] ^ pi7);
		n -= 4, w += 4;
	}
	if (n >= 2) {
		acc += fold(w[0] ^ pi2, w[1] ^ pi3);
		n -= 2, w += 2;
	}
	if (n == 1)
		acc += fold(w[0] ^ pi0, pi1);
	return acc;
}

static inline uint64_t seal_of(uint64_t hash, uint64_t expiry, const uint64_t *value, uint64_t n) {
	uint64_t seal = fold(sum(hash + expiry * golden, value, n) ^ pi2, pi3);
	return seal <= INVALID ? seal + INVALID + 1 : seal;
}

static inline uint64_t load(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }

static inline void store(uint64_t *at, uint64_t word) {
	__atomic_store_n(at, word, __ATOMIC_RELAXED);
}

static inline int same(const uint64_t *shared, const uint64_t *own, uint64_t n) {
	uint64_t differ = 0;
	if (load(shared) != own[0]) // so most other keys take one cache line
		return 0;
	for (uint64_t i = 0; i < n; i++)
		differ |= load(shared + i) ^ own[i];
	return differ == 0;
}

// whole returns the words of a key or value: in place, or a copy that is padded with zeros.
static inline const uint64_t *whole(const void *from, uint64_t bytes, uint64_t *padded) {
	if (((uintptr_t)from | bytes) % 8 == 0)
		return from;
	padded[(bytes - 1) / 8] = 0;
	memcpy(padded, from, bytes);
	return padded;
}

typedef struct {
	uint64_t hash;
	uint64_t rank, offset; // of the first bucket of the first choice
	uint64_t *group;       // the same in memory, or NULL if this process cannot address it
	uint64_t first;        // which of its buckets is the first candidate
} place;

static inline place place_of(const fh_shape *s, const uint64_t *key) {
	place p;
	p.hash = fold(sum(pi5, key, s->key_words) ^ pi6, pi7);
	p.rank = high(p.hash * golden, s->ranks);
	p.offset = high(p.hash, s->groups) * s->group_words;
	uint64_t *segment = s->flat ? s->flat + p.rank * s->segment : s->near[p.rank];
	p.group = segment ? segment + p.offset : NULL;
	p.first = (p.hash & 0xFFFF) * s->group_buckets >> 16;
	return p;
}

static inline void count(uint64_t *counter) {
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

// candidate is bucket number i in the order of a key, of the first group.
static inline uint64_t *candidate(const fh_shape *s, const place *p, uint64_t i) {
	return p->group + (p->first + i) % s->group_buckets * s->bucket_words;
}

#ifdef CLOCK_REALTIME_COARSE // takes a quarter of the time
enum { CLOCK = CLOCK_REALTIME_COARSE };
#else
enum { CLOCK = CLOCK_REALTIME };
#endif

// now is the time in nanoseconds since 1970; 0 where no pair expires.
static inline uint64_t now(const fh_shape *s) {
	struct timespec t = {0};
	if (s->key_at > 1)
		clock_gettime(CLOCK, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// expiry_of is when the pair of a bucket expires; 0 is never, as in expired.
static inline uint64_t expiry_of(const fh_shape *s, const uint64_t *bucket) {
	return s->key_at > 1 ? load(bucket + 1) : 0;
}

static inline int expired(uint64_t expiry, uint64_t now) { return expiry - 1 < now; }

// fetch gets the first group of a key from another host, into memory that the caller frees. After an
// error it stays, as MPI may still write there.
static int fetch(const fh_shape *s, place *p) {
	uint64_t *room = malloc(s->group_words * sizeof *room);
	if (!room || s->get(s->window, (int)p->rank, (int64_t)p->offset, room, (int64_t)s->group_words))
		return 0;
	p->group = room;
	return 1;
}

static int get_from(fh_handle *cache, const place *p, const uint64_t *k, void *value) {
	const fh_shape *s = &cache->shape;
	uint64_t seen[FH_FAST_WORDS];
	fh_tally *tally = fh_mine(cache);
	for (uint64_t i = 0; i < s->group_buckets; i++) {
		const uint64_t *bucket = candidate(s, p, i);
		uint64_t seal = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
		if (seal == EMPTY) {
			count(&tally->misses);
			return FARHASH_MISS;
		}
		if (seal == INVALID || !same(bucket + s->key_at, k, s->key_words))
			continue;
		uint64_t expiry = expiry_of(s, bucket);
		for (uint64_t j = 0; j < s->value_words; j++)
			seen[j] = load(bucket + s->key_at + s->key_words + j);
		if (seal_of(p->hash, expiry, seen, s->value_words) != seal || expired(expiry, now(s)))
			return FH_UNKNOWN;
		memcpy(value, seen, cache->more);
		count(&tally->hits);
		return FARHASH_HIT;
	}
	return FH_UNKNOWN;
}

// fh_fast_get is FARHASH_HIT if the first group has the key with a whole value, and FARHASH_MISS
// if it has an empty bucket before that. Else, or if the pair has expired, it is FH_UNKNOWN.
int fh_fast_get(fh_handle *cache, const void *key, void *value) {
	uint64_t padded[FH_FAST_WORDS];
	const uint64_t *k = whole(key, cache->bytes, padded);
	place p = place_of(&cache->shape, k);
	if (p.group)
		return get_from(cache, &p, k, value);
	if (!fetch(&cache->shape, &p))
		return FH_UNKNOWN;
	int seen = get_from(cache, &p, k, value);
	free(p.group);
	return seen;
}

// write_bucket writes the checksum last.
static void write_bucket(uint64_t *bucket, const fh_shape *s, uint64_t seal, uint64_t expiry,
	const uint64_t *key, const uint64_t *value) {
	if (s->key_at > 1)
		store(bucket + 1, expiry);
	for (uint64_t i = 0; i < s->key_words; i++)
		store(bucket + s->key_at + i, key[i]);
	for (uint64_t i = 0; i < s->value_words; i++)
		store(bucket + s->key_at + s->key_words + i, value[i]);
	__atomic_store_n(bucket, seal, __ATOMIC_RELEASE);
}

// put_into stores a pair in a group, and gives the bucket that it has written, or NULL.
static int put_into(const fh_shape *s, const place *p, const uint64_t *k, const uint64_t *v,
	uint64_t **written) {
	uint64_t *there = NULL, *vacant = NULL, before = 0, seen = INVALID, time = now(s);
	for (uint64_t i = 0; i < s->group_buckets && seen != EMPTY; i++) {
		uint64_t *bucket = candidate(s, p, i);
		seen = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
		if (seen <= INVALID) {
			vacant = vacant ? vacant : bucket;
		} else if (same(bucket + s->key_at, k, s->key_words)) {
			if (there || expired(expiry_of(s, bucket), time))
				return FH_UNKNOWN;
			there = bucket;
			before = seen;
		} else if (expired(expiry_of(s, bucket), time)) {
			vacant = vacant ? vacant : bucket;
		}
	}
	if (seen != EMPTY)
		return FH_UNKNOWN;
	uint64_t expiry = s->ttl_ns ? time + s->ttl_ns : 0;
	uint64_t seal = seal_of(p->hash, expiry, v, s->value_words);
	if (!there || before != seal || expiry_of(s, there) != expiry ||
		!same(there + s->key_at + s->key_words, v, s->value_words)) {
		*written = there ? there : vacant;
		write_bucket(*written, s, seal, expiry, k, v);
	}
	return there ? FARHASH_UPDATED : FARHASH_NEW;
}

// send puts a bucket of a group that was fetched, or nothing for NULL, and frees the group.
static int send(const fh_shape *s, const place *p, uint64_t *written) {
	if (written && s->put(s->window, (int)p->rank, (int64_t)p->offset + (written - p->group), written,
			(int64_t)s->bucket_words))
		return 0; // the group stays, as MPI may still read there
	free(p->group);
	return 1;
}

// fh_fast_put stores a pair if the first group has an empty bucket: the key is nowhere after
// that. Where the group has the key twice or expired, or no empty bucket, it is FH_UNKNOWN.
int fh_fast_put(fh_handle *cache, const void *key, const void *value) {
	const fh_shape *s = &cache->shape;
	uint64_t paddedKey[FH_FAST_WORDS], paddedValue[FH_FAST_WORDS], *written = NULL;
	const uint64_t *k = whole(key, cache->bytes, paddedKey);
	const uint64_t *v = whole(value, cache->more, paddedValue);
	place p = place_of(s, k);
	int far = !p.group;
	if (far && !fetch(s, &p))
		return FH_UNKNOWN;
	int done = put_into(s, &p, k, v, &written);
	if (far && !send(s, &p, written))
		return FH_UNKNOWN;
	fh_tally *tally = fh_mine(cache);
	if (done != FH_UNKNOWN)
		count(done == FARHASH_NEW ? &tally->inserted : &tally->updated);
	return done;
}
