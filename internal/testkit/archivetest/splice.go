// Package archivetest puts files together that no save has written, for the tests of what is saved
// in archives.
package archivetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/archive"
)

// The shape of an archive; see its package.
const (
	header = 4096
	stride = 32 + archive.PayloadBytes
)

// splices is how many files of random pieces are tried.
const splices = 30

// Refused puts files together of the blocks of two that differ. load loads a file and says what it
// held: it must refuse all of them, naming the file and, but where noted, a block.
func Refused(t *testing.T, one, other string, load func(path string) (content string, err error)) {
	t.Helper()
	s := &splicer{t: t, path: filepath.Join(t.TempDir(), "spliced"), load: load}
	for _, path := range []string{one, other} {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content, err := load(path)
		if err != nil {
			t.Fatal(err)
		}
		s.files, s.contents = append(s.files, file), append(s.contents, content)
	}
	s.count = min(blocks(s.files[0]), blocks(s.files[1]))
	if s.count < 2 {
		t.Fatalf("%d blocks are too few for this test", s.count)
	}
	s.blocks()
	s.sizes()
	s.random()
}

func blocks(file []byte) int { return (len(file) - header) / stride }

func block(file []byte, n int) []byte { return file[header+n*stride:][:stride] }

type splicer struct {
	t        *testing.T
	path     string
	load     func(path string) (string, error)
	files    [][]byte
	contents []string // that load says of files
	count    int      // of blocks that both files have
}

// try loads a file of pieces and returns the error.
func (s *splicer) try(pieces ...[]byte) (content string, err error) {
	if err := os.WriteFile(s.path, bytes.Join(pieces, nil), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.load(s.path)
}

// refused tries a file of pieces that must be refused.
func (s *splicer) refused(what, want string, pieces ...[]byte) {
	s.t.Helper()
	content, err := s.try(pieces...)
	if err == nil {
		s.t.Errorf("%s: loaded, with %.200q", what, content)
	} else if !strings.Contains(err.Error(), s.path) || !strings.Contains(err.Error(), want) {
		s.t.Errorf("%s: %v, want the file and %q", what, err, want)
	}
}

// blocks puts each block into each place: of the other file, and of the same.
func (s *splicer) blocks() {
	own := s.files[0]
	for to := range s.count {
		at := header + to*stride
		for from := range s.count {
			for which, file := range s.files {
				if which == 0 && from == to || bytes.Equal(block(file, from), block(own, to)) {
					continue
				}
				s.refused(fmt.Sprintf("block %d of file %d as %d", from, which, to),
					fmt.Sprintf("block %d ", to), own[:at], block(file, from), own[at+stride:])
			}
		}
	}
	for i := range s.count - 1 {
		at := header + i*stride
		s.refused(fmt.Sprintf("blocks %d and %d exchanged", i, i+1), "block ", own[:at],
			block(own, i+1), block(own, i), own[at+2*stride:])
	}
}

// sizes gives files one header and another body, and blocks too many and too few.
func (s *splicer) sizes() {
	one, other := s.files[0], s.files[1]
	n := blocks(one)
	s.refused("the header of one and the body of the other", "block", one[:header],
		other[header:])
	s.refused("the body of one and the header of the other", "block", other[:header],
		one[header:])
	s.refused("the last block missing", fmt.Sprintf("block %d of %d", n-1, n),
		one[:len(one)-stride])
	s.refused("the first block missing", fmt.Sprintf("block %d of %d", n-1, n), one[:header],
		one[header+stride:])
	s.refused("all blocks missing", fmt.Sprintf("block 0 of %d", n), one[:header])
	s.refused("one block more", fmt.Sprintf("%d blocks", n), one, block(other, 0))
	s.refused("the last block twice", fmt.Sprintf("%d blocks", n), one, block(one, n-1))
}

// random puts files together of pieces of any length: what is loaded is what one file held.
func (s *splicer) random() {
	rng := rand.New(rand.NewPCG(1, 2))
	size := min(len(s.files[0]), len(s.files[1]))
	for range splices {
		cut := func() int { // often near the beginning of a block, where there is something
			return min(rng.IntN(s.count)*stride+rng.IntN(2*header), size)
		}
		from, to := cut(), cut()
		from, to = min(from, to), max(from, to)
		into := rng.IntN(2)
		content, err := s.try(s.files[into][:from], s.files[1-into][from:to], s.files[into][to:])
		if err == nil && content != s.contents[0] && content != s.contents[1] {
			s.t.Errorf("bytes %d to %d of file %d in file %d: loaded, with %.200q", from, to,
				1-into, into, content)
		}
	}
}
