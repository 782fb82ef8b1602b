package dedup

import (
	"bufio"
	"io"
	"math/rand/v2"
	"os"

	"github.com/zeebo/xxh3"
)

// letters are 64 characters that no program takes for anything else.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_."

// appendLine appends line number id, of so many bytes with its end. Different numbers have
// different lines as far as their length allows: hashes of id and the place, six bits a character.
func appendLine(to []byte, id uint64, lineBytes int) []byte {
	state := id
	for n := 0; n < lineBytes-1; {
		state += 0x9E3779B97F4A7C15 // of splitmix64
		x := (state ^ state>>30) * 0xBF58476D1CE4E5B9
		x = (x ^ x>>27) * 0x94D049BB133111EB
		for x ^= x >> 31; x > 15 && n < lineBytes-1; n++ { // the last bits are no character
			to = append(to, letters[x&63])
			x >>= 6
		}
		state ^= id << 32
	}
	return append(to, '\n')
}

// writeLines writes lines to a file until it has sizeBytes. repeats is how many of a hundred repeat
// one before. It returns how many there are.
func writeLines(path string, sizeBytes uint64, lineBytes, repeats int, seed uint64) (n uint64,
	err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	w, line := bufio.NewWriterSize(file, 1<<20), make([]byte, 0, lineBytes)
	rng, distinct := rand.New(rand.NewPCG(seed, 0)), uint64(0)
	for n = sizeBytes / uint64(lineBytes); n > 0; n-- {
		id := distinct
		if distinct > 0 && rng.IntN(100) < repeats {
			id = rng.Uint64N(distinct)
		} else {
			distinct++
		}
		line = appendLine(line[:0], id, lineBytes)
		if _, err := w.Write(line); err != nil {
			return 0, err
		}
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return sizeBytes / uint64(lineBytes), file.Close()
}

// digest is the lines of files in no order.
type digest struct {
	lines uint64
	sum   uint64 // of their hashes
}

// add adds the lines of a file.
func (d *digest) add(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		} else if err != nil && err != io.EOF {
			return err
		}
		d.lines++
		d.sum += xxh3.Hash(line)
	}
}
