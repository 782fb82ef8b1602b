package dedup

import (
	"bufio"
	"compress/bzip2"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compression is a way to compress files.
type compression struct {
	name   string
	begins []string // what the files begin with
	// open decompresses. nil: plain is what does.
	open  func(in *bufio.Reader) (io.Reader, error)
	plain string
}

// How compressed files begin, and what the names of such outputs end in.
const (
	gzipMagic  = "\x1f\x8b"
	zstdMagic  = "\x28\xb5\x2f\xfd"
	gzipEnding = ".gz"
	zstdEnding = ".zst"
)

// compressions are those that dedup reads, and others that it would take for lines.
var compressions = []compression{
	{name: "gzip", begins: []string{gzipMagic}, open: openGzip},
	{name: "zstd", begins: append(skippable(), zstdMagic),
		open: func(in *bufio.Reader) (io.Reader, error) {
			return zstd.NewReader(in, zstd.WithDecoderConcurrency(1)) // no goroutines
		}},
	{name: "bzip2", begins: bzip2Magic(),
		open: func(in *bufio.Reader) (io.Reader, error) { return bzip2.NewReader(in), nil }},
	{name: "xz", begins: []string{"\xfd7zXZ\x00"}, plain: "xz -dc"},
	{name: "lzma", begins: []string{"\x5d\x00\x00\x80\x00" + strings.Repeat("\xff", 8)},
		plain: "xz -dc"},
	{name: "lz4", begins: []string{"\x04\x22\x4d\x18", "\x02\x21\x4c\x18"}, plain: "lz4 -dc"},
	{name: "lzip", begins: []string{"LZIP\x01"}, plain: "lzip -dc"},
	{name: "compress", begins: []string{"\x1f\x9d"}, plain: "gzip -dc"},
	{name: "snappy", begins: []string{"\xff\x06\x00\x00sNaPpY"}, plain: "snzip -dc"},
	{name: "zip", begins: []string{"PK\x03\x04"}, plain: "unzip -p"},
	{name: "7-Zip", begins: []string{"7z\xbc\xaf\x27\x1c"}, plain: "7z x -so"},
}

// longestMagic is how many bytes say how a file is compressed.
const longestMagic = 13

// skippable is how the frames begin that readers of zstd skip. Files of pzstd begin with one.
func skippable() (all []string) {
	for c := '\x50'; c <= '\x5f'; c++ {
		all = append(all, string(c)+"\x2a\x4d\x18")
	}
	return all
}

// bzip2Magic is how files of bzip2 begin: with the size of blocks, and a block or the end.
func bzip2Magic() (all []string) {
	for size := '1'; size <= '9'; size++ {
		all = append(all, "BZh"+string(size)+"1AY&SY", "BZh"+string(size)+"\x17rE8P\x90")
	}
	return all
}

// decompressor decompresses what begins as compressed files do.
func decompressor(in io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(in, 64<<10)
	for _, c := range compressions {
		for _, magic := range c.begins {
			switch {
			case !begins(b, magic):
			case c.open == nil:
				return nil, fmt.Errorf("it is compressed by %s, which is not read here; give what "+
					"%s writes, or --plain if it is not compressed", c.name, c.plain)
			default:
				return c.open(b)
			}
		}
	}
	return b, nil
}

// begins reports whether input begins with some bytes. It waits for no more of them than that
// takes: a short line of an open pipe is all that there is for now.
func begins(b *bufio.Reader, with string) bool {
	for n := range len(with) {
		if head, _ := b.Peek(n + 1); string(head) != with[:n+1] {
			return false
		}
	}
	return true
}

// isCompressed reports whether a regular file begins as compressed ones do.
func isCompressed(file *os.File) bool {
	var head [longestMagic]byte
	n, _ := file.ReadAt(head[:], 0)
	for _, c := range compressions {
		for _, magic := range c.begins {
			if strings.HasPrefix(string(head[:n]), magic) {
				return true
			}
		}
	}
	return false
}

// members is the text of a file of gzip. Members of it follow each other, and zeros may follow the
// last: tapes and some tools fill a block with them, and gzip passes over them.
type members struct {
	in *bufio.Reader
	z  *gzip.Reader
}

func openGzip(in *bufio.Reader) (io.Reader, error) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &members{in, z}, nil
}

func (m *members) Read(to []byte) (int, error) {
	for {
		n, err := m.z.Read(to)
		if err == io.EOF {
			err = nil
			if n == 0 {
				err = m.next()
			}
		}
		if n > 0 || err != nil || len(to) == 0 {
			return n, err
		}
	}
}

// next begins the next member. io.EOF: there is none.
func (m *members) next() error {
	for {
		c, err := m.in.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			break
		}
	}
	if err := m.in.UnreadByte(); err != nil {
		return err
	}
	err := m.z.Reset(m.in)
	m.z.Multistream(false)
	return err
}

type uncompressed struct{ io.Writer }

func (uncompressed) Close() error { return nil }

// compressor compresses as the name of a file says.
func compressor(path string, w io.Writer) (io.WriteCloser, error) {
	switch {
	case strings.HasSuffix(path, gzipEnding):
		return gzip.NewWriter(w), nil
	case strings.HasSuffix(path, zstdEnding):
		return zstd.NewWriter(w)
	}
	return uncompressed{w}, nil
}

// writable refuses a name that says that a file is compressed, if compressor does not do so.
func writable(path string) error {
	for _, ending := range []string{".xz", ".bz2", ".lz4", ".lzma", ".lz", ".Z", ".zip", ".7z",
		".zstd"} {
		if strings.HasSuffix(path, ending) {
			return fmt.Errorf("-o %s: output is compressed by gzip or zstd, in files that end in "+
				"%s or %s; choose one of them, or another name", path, gzipEnding, zstdEnding)
		}
	}
	return nil
}
