package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/replace"
)

const (
	magic       = "farhash\x00"
	version     = 1
	headerBytes = 4096
	headBytes   = 32 // in front of each payload

	// PayloadBytes is the room for data in a block.
	PayloadBytes = 1 << 18

	stride = headBytes + PayloadBytes

	// MaxDescription is the longest description.
	MaxDescription = headerBytes - 48
)

// Writer writes blocks into a file that is not complete.
type Writer struct {
	path string
	f    *os.File
}

// Create begins the file; one rank does it before the others Join. It fails while another
// job writes the same one.
func Create(path string) (*Writer, error) { return openPartial(path, replace.Begin) }

// Join opens the file that another rank has begun.
func Join(path string) (*Writer, error) { return openPartial(path, replace.Continue) }

func openPartial(path string, open func(target string) (*os.File, error)) (*Writer, error) {
	target, err := Writable(path)
	if err != nil {
		return nil, err
	}
	f, err := open(target)
	if errors.Is(err, fs.ErrNotExist) { // the folder is there
		err = fmt.Errorf("%w; ranks on several hosts need a folder that all of them share", err)
	}
	if err != nil {
		return nil, fmt.Errorf("archive: writing %s: %w", path, err)
	}
	return &Writer{path: target, f: f}, nil
}

// Writable says why no file could be written at a path, as far as that can be told
// beforehand, and else what symbolic links there lead to.
func Writable(path string) (target string, err error) {
	target, special, err := replace.Target(path)
	if err == nil && special {
		err = errors.New("it is a device or a pipe, and blocks are not written in order")
	}
	if err == nil {
		_, err = os.Stat(filepath.Dir(target))
	}
	if err != nil {
		return "", fmt.Errorf("archive: writing %s: %w", path, err)
	}
	return target, nil
}

// WriteBlock writes block n. Two ranks may write different blocks at once.
func (w *Writer) WriteBlock(n uint64, section uint32, payload []byte) error {
	if len(payload) > PayloadBytes {
		return fmt.Errorf("archive: a block of %d bytes; at most %d fit",
			len(payload), PayloadBytes)
	}
	head := make([]byte, headBytes, headBytes+len(payload))
	binary.LittleEndian.PutUint32(head, section)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint64(head[8:], blockSum(n, section, payload))
	if _, err := w.f.WriteAt(append(head, payload...), blockOffset(n)); err != nil {
		return fmt.Errorf("archive: writing %s: %w", w.path, err)
	}
	return nil
}

// Finish makes the file complete, with blocks 0 to blocks-1 and a description of
// what they are. One rank does it when all have written their blocks.
func (w *Writer) Finish(blocks uint64, description []byte) error {
	if len(description) > MaxDescription {
		return fmt.Errorf("archive: a description of %d bytes; at most %d fit",
			len(description), MaxDescription)
	}
	err := w.f.Truncate(blockOffset(blocks))
	if err == nil {
		_, err = w.f.WriteAt(encodeHeader(blocks, description), 0)
	}
	if err == nil {
		err = w.f.Sync()
	}
	if err == nil {
		err = os.Rename(w.f.Name(), w.path)
	}
	if err != nil {
		return fmt.Errorf("archive: writing %s: %w", w.path, err)
	}
	return nil
}

// Close closes this rank's view of the file.
func (w *Writer) Close() error { return w.f.Close() }

// Abandon removes the file that is not complete.
func (w *Writer) Abandon() error { return replace.Abandon(w.f) }

// Reader reads blocks of a complete file.
type Reader struct {
	Blocks      uint64
	Description []byte

	path string
	f    *os.File
}

// Open verifies the header and the size of a file.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	r := &Reader{path: path, f: f}
	if err := r.readHeader(); err != nil {
		return nil, errors.Join(fmt.Errorf("archive: %s %w", path, err), f.Close())
	}
	return r, nil
}

func (r *Reader) readHeader() error {
	head := make([]byte, headerBytes)
	if _, err := io.ReadFull(io.NewSectionReader(r.f, 0, headerBytes), head); err != nil {
		return fmt.Errorf("is no archive of farhash: it ends within the header (%w)", err)
	}
	var err error
	if r.Blocks, r.Description, err = decodeHeader(head); err != nil {
		return err
	}
	info, err := r.f.Stat()
	if err != nil {
		return err
	}
	if want := blockOffset(r.Blocks); info.Size() != want {
		return fmt.Errorf("is truncated or has been added to: it has %d bytes and should have %d",
			info.Size(), want)
	}
	return nil
}

// ReadBlock reads and verifies block n. buf has PayloadBytes bytes; the payload lies
// in it.
func (r *Reader) ReadBlock(n uint64, buf []byte) (section uint32, payload []byte, err error) {
	if n >= r.Blocks {
		return 0, nil, fmt.Errorf("archive: %s has no block %d, only %d", r.path, n, r.Blocks)
	}
	var head [headBytes]byte
	if _, err := r.f.ReadAt(head[:], blockOffset(n)); err != nil {
		return 0, nil, fmt.Errorf("archive: reading block %d of %s: %w", n, r.path, err)
	}
	section = binary.LittleEndian.Uint32(head[:])
	length := binary.LittleEndian.Uint32(head[4:])
	if length > PayloadBytes || int(length) > len(buf) {
		return 0, nil, fmt.Errorf("archive: %s is corrupt: block %d says it has %d bytes",
			r.path, n, length)
	}
	payload = buf[:length]
	if _, err := r.f.ReadAt(payload, blockOffset(n)+headBytes); err != nil {
		return 0, nil, fmt.Errorf("archive: reading block %d of %s: %w", n, r.path, err)
	}
	if sum := binary.LittleEndian.Uint64(head[8:]); sum != blockSum(n, section, payload) {
		return 0, nil, fmt.Errorf("archive: %s is corrupt: block %d fails its checksum", r.path, n)
	}
	return section, payload, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.f.Close() }

func blockOffset(n uint64) int64 { return headerBytes + int64(n)*stride }

// blockSum is the checksum of a block in its place.
func blockSum(n uint64, section uint32, payload []byte) uint64 {
	return xxh3.HashSeed(payload, n*(1<<32)+uint64(section)+1)
}

func encodeHeader(blocks uint64, description []byte) []byte {
	head := make([]byte, headerBytes)
	copy(head, magic)
	binary.LittleEndian.PutUint64(head[8:], version)
	binary.LittleEndian.PutUint64(head[16:], blocks)
	binary.LittleEndian.PutUint64(head[24:], PayloadBytes)
	binary.LittleEndian.PutUint64(head[32:], uint64(len(description)))
	copy(head[40:], description)
	binary.LittleEndian.PutUint64(head[headerBytes-8:], xxh3.Hash(head[:headerBytes-8]))
	return head
}

func decodeHeader(head []byte) (blocks uint64, description []byte, err error) {
	switch {
	case !bytes.HasPrefix(head, []byte(magic)):
		return 0, nil, errors.New("is no archive of farhash")
	case binary.LittleEndian.Uint64(head[headerBytes-8:]) != xxh3.Hash(head[:headerBytes-8]):
		return 0, nil, errors.New("is corrupt: its header fails the checksum")
	case binary.LittleEndian.Uint64(head[8:]) != version:
		return 0, nil, fmt.Errorf("has version %d, and this program reads version %d",
			binary.LittleEndian.Uint64(head[8:]), version)
	case binary.LittleEndian.Uint64(head[24:]) != PayloadBytes:
		return 0, nil, fmt.Errorf("has blocks of %d bytes, and this program reads blocks of %d",
			binary.LittleEndian.Uint64(head[24:]), PayloadBytes)
	}
	blocks = binary.LittleEndian.Uint64(head[16:])
	length := binary.LittleEndian.Uint64(head[32:])
	if length > MaxDescription || blocks > 1<<40 {
		return 0, nil, errors.New("is corrupt: its header makes no sense")
	}
	return blocks, head[40 : 40+length], nil
}
