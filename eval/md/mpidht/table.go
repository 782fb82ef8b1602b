package mpidht

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/internal/core"
)

// Protocol is how ranks keep from reading what others are writing.
type Protocol uint8

// The protocols of MD.
const (
	LockFree Protocol = iota
	Fine
	Coarse
)

// Config is what a table is made of; every rank gives the same.
type Config struct {
	Protocol             Protocol
	KeyBytes, ValueBytes int    // of every key and value
	Buckets              uint64 // of each rank
}

// Stats is what one rank has done.
type Stats struct {
	Reads, Writes uint64
	Hits          uint64 // reads that found their key
	Evicted       uint64 // writes over another key
	Mismatches    uint64 // checksums that were wrong
	Marked        uint64 // buckets marked as invalid: their checksum was wrong twice
	Failed        uint64 // reads that failed since their bucket was invalid (MD Table 2)
	LockRetries   uint64 // tries to get a lock that another rank had
	Gets          uint64 // of buckets
}

// Table is one rank's access to the table. One goroutine uses it.
type Table struct {
	// Stats is what this rank has done so far.
	Stats Stats

	ctx    context.Context // ends all waits
	cfg    Config
	window rma.Window
	wire
	layout
	bucket, mine rma.Buf // without the lock: what was got, what is put
	mark         rma.Buf // a word that marks a bucket as invalid
}

// New makes an empty table. Collective. The waits of all calls end with ctx.
func New(ctx context.Context, job rma.Job, cfg Config) (*Table, error) {
	if cfg.KeyBytes < 1 || cfg.ValueBytes < 1 || cfg.Buckets < 1 {
		return nil, fmt.Errorf("mpidht: keys of %d bytes, values of %d, %d buckets: all must be 1 "+
			"or more", cfg.KeyBytes, cfg.ValueBytes, cfg.Buckets)
	}
	t := &Table{ctx: ctx, cfg: cfg, layout: shape(cfg, job.Size())}
	var err error
	t.window, err = job.NewWindow(ctx, rma.Spec{Name: "mpidht: buckets", Words: t.segment()})
	if err != nil {
		return nil, err
	}
	if t.q, err = job.NewQueue(queueDepth); err != nil {
		return nil, errors.Join(err, t.window.Close())
	}
	for _, b := range []struct {
		buf   *rma.Buf
		words int
	}{{&t.bucket, t.entryWords}, {&t.mine, t.entryWords}, {&t.mark, 1}} {
		if *b.buf, err = t.q.Alloc(b.words); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	return t, nil
}

// Close gives back this rank's use of the memory.
func (t *Table) Close() error {
	return errors.Join(t.settle(t.ctx), t.q.Close(), t.window.Close())
}

// Write stores a value under a key, over another key where all candidates have one.
func (t *Table) Write(key, value []byte) error {
	t.Stats.Writes++
	fill(t.mine[1:1+t.keyWords], key)
	fill(t.mine[1+t.keyWords:], value)
	t.mine[0] = occupied
	if t.cfg.Protocol == LockFree {
		t.mine[0] |= checksum(t.mine)
	}
	hash := digest(0, t.mine[1:1+t.keyWords])
	rank := t.rank(hash)
	if t.cfg.Protocol == Coarse {
		if err := t.lockExclusive(rank, 0); err != nil {
			return err
		}
	}
	err := t.write(rank, hash)
	if t.cfg.Protocol == Coarse && err == nil {
		err = t.unlock(rank, 0, exclusive)
	}
	return err
}

// write looks for the bucket, and puts what is in mine into it.
func (t *Table) write(rank int, hash uint64) error {
	for i := 0; ; i++ {
		at := t.candidate(hash, i)
		if t.cfg.Protocol == Fine {
			if err := t.lockExclusive(rank, at); err != nil {
				return err
			}
		}
		if err := t.getBucket(rank, at); err != nil {
			return err
		}
		free := t.bucket[0]&occupied == 0 || t.bucket[0]&invalid != 0
		if free || t.sameKey() || i == t.last {
			if !free && !t.sameKey() {
				t.Stats.Evicted++
			}
			if err := t.put(t.ctx, t.mine, t.window, rank, t.entry(at)); err != nil {
				return err
			}
			return t.unlockFine(rank, at, exclusive)
		}
		if err := t.unlockFine(rank, at, exclusive); err != nil {
			return err
		}
	}
}

// Read gets the value of a key. found is false if the key is not there, or if its bucket is
// invalid.
func (t *Table) Read(key, value []byte) (found bool, err error) {
	t.Stats.Reads++
	fill(t.mine[1:1+t.keyWords], key)
	hash := digest(0, t.mine[1:1+t.keyWords])
	rank := t.rank(hash)
	if t.cfg.Protocol == Coarse {
		if err := t.lockShared(rank, 0); err != nil {
			return false, err
		}
	}
	found, err = t.read(rank, hash)
	if t.cfg.Protocol == Coarse && err == nil {
		err = t.unlock(rank, 0, 1)
	}
	if found && err == nil {
		t.Stats.Hits++
		drain(value, t.bucket[1+t.keyWords:])
	}
	return found && err == nil, err
}

// read looks for the key, whose value is in the bucket that was got last.
func (t *Table) read(rank int, hash uint64) (found bool, err error) {
	for i, again := 0, false; i <= t.last; {
		at := t.candidate(hash, i)
		if t.cfg.Protocol == Fine {
			if err := t.lockShared(rank, at); err != nil {
				return false, err
			}
		}
		if err := t.getBucket(rank, at); err != nil {
			return false, err
		}
		if err := t.unlockFine(rank, at, 1); err != nil {
			return false, err
		}
		switch {
		case t.bucket[0]&occupied == 0:
			return false, nil
		case !t.sameKey():
			i++
		case t.cfg.Protocol != LockFree:
			return true, nil
		case t.bucket[0]&invalid != 0:
			t.Stats.Failed++
			return false, nil
		case t.bucket[0]>>checksumShift<<checksumShift == checksum(t.bucket):
			return true, nil
		case again:
			// mark: a bucket fails its checksum twice
			t.Stats.Mismatches++
			t.Stats.Marked++
			t.Stats.Failed++
			t.mark[0] = t.bucket[0] | invalid
			return false, t.put(t.ctx, t.mark, t.window, rank, t.entry(at))
		default:
			t.Stats.Mismatches++
			again = true
		}
	}
	return false, nil
}

func (t *Table) getBucket(rank, at int) error {
	t.Stats.Gets++
	return t.get(t.ctx, t.bucket, t.window, rank, t.entry(at))
}

// sameKey reports whether the bucket has the key that is in mine.
func (t *Table) sameKey() bool {
	return slices.Equal(t.bucket[1:1+t.keyWords], t.mine[1:1+t.keyWords])
}

// fill copies bytes into words, and zeros behind them.
func fill(words []uint64, b []byte) {
	for i := range words {
		if len(b) >= 8 {
			words[i], b = binary.LittleEndian.Uint64(b), b[8:]
			continue
		}
		var last [8]byte
		copy(last[:], b)
		words[i], b = binary.LittleEndian.Uint64(last[:]), nil
	}
}

// drain copies words into bytes.
func drain(b []byte, words []uint64) {
	for _, word := range words {
		var whole [8]byte
		binary.LittleEndian.PutUint64(whole[:], word)
		b = b[copy(b, whole[:]):]
	}
}

const (
	occupied uint64 = 1 << 0
	invalid  uint64 = 1 << 1

	checksumShift = 32

	lineWords = 8
)

// layout is where buckets are, and candidates.
type layout struct {
	ranks                int
	buckets              uint64
	first                int // offset of the first bucket: behind the lock of the rank
	lockWords            int // in front of each bucket
	entryWords, keyWords int // a bucket without its lock, and its key
	windowBytes, last    int // bytes of a window of the hash, and the number of the last one
}

func shape(cfg Config, ranks int) layout {
	l := layout{ranks: ranks, buckets: cfg.Buckets, keyWords: core.WordsOf(cfg.KeyBytes)}
	l.entryWords = 1 + l.keyWords + core.WordsOf(cfg.ValueBytes)
	switch cfg.Protocol {
	case Fine:
		l.lockWords = 1
	case Coarse:
		l.first = lineWords
	}
	for l.windowBytes = 1; l.windowBytes < 8 && cfg.Buckets > 1<<(8*l.windowBytes); {
		l.windowBytes++
	}
	l.last = 8 - l.windowBytes
	return l
}

// segment is the words of a rank.
func (l *layout) segment() int {
	bucket := uint64(l.lockWords + l.entryWords)
	return core.Segment(l.buckets+(uint64(l.first)+bucket-1)/bucket, bucket)
}

// rank is the rank of a key.
func (l *layout) rank(hash uint64) int { return int(hash % uint64(l.ranks)) }

// candidate is the offset of candidate i of a key.
func (l *layout) candidate(hash uint64, i int) int {
	mask := ^uint64(0) >> (64 - 8*l.windowBytes)
	index := hash >> (8 * i) & mask % l.buckets
	return l.first + int(index)*(l.lockWords+l.entryWords)
}

// entry is the offset of a bucket without its lock.
func (l *layout) entry(at int) int { return at + l.lockWords }

// digest is a hash of words.
func digest(sum uint64, words []uint64) uint64 {
	for ; len(words) > 1; words = words[2:] {
		sum = core.Fold(words[0]^sum^0x243F6A8885A308D3, words[1]^0x13198A2E03707344)
	}
	if len(words) == 1 {
		sum ^= words[0]
	}
	return core.Fold(sum^0xA4093822299F31D0, 0x082EFA98EC4E6C89)
}

// checksum is the checksum of a bucket's key and value, in the bits that it has in the word meta.
func checksum(bucket []uint64) uint64 {
	return digest(1, bucket[1:]) >> checksumShift << checksumShift
}
