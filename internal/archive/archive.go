package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/system/regular"
	"github.com/farhash/farhash/internal/system/replace"
)

const (
	magic       = "farhash\x00"
	version     = 3
	headerBytes = 4096
	headBytes   = 32 // in front of each payload

	descriptionAt = 56 // in the header

	// PayloadBytes is the room for data in a block.
	PayloadBytes = 1 << 18

	stride = headBytes + PayloadBytes

	// MaxDescriptionBytes is the longest description.
	MaxDescriptionBytes = headerBytes - descriptionAt - 8
)

// Writer writes blocks into a file that is not complete.
type Writer struct {
	path string
	f    *os.File
	mark uint64
}

// Exploration is the kind of checkpoints of package explore, or how it begins.
const Exploration = "farhash exploration"

// Format is the format of files whose description begins with a kind, as Contents has it and
// checkpoints do. "": of all files of this package.
func Format(kind string) replace.Format {
	return replace.Format{Name: "saved " + kind, Known: func(head []byte) bool {
		return bytes.HasPrefix(head, []byte(magic)) &&
			(kind == "" || bytes.Contains(head, []byte(`{"kind":"`+kind)))
	}}
}

// Create begins the file; one rank does it before the others Join. It fails while another
// job writes the same one, and where it would replace a file of another kind.
func Create(path, kind string) (*Writer, error) {
	return openPartial(path, Format(kind), func(target string) (*os.File, uint64, error) {
		return replace.Begin(target, magic)
	})
}

// Join opens the file that another rank has begun, whose Mark is given.
func Join(path string, mark uint64) (*Writer, error) {
	return openPartial(path, replace.Format{}, func(target string) (*os.File, uint64, error) {
		f, err := replace.Continue(target, mark)
		return f, mark, err
	})
}

func openPartial(path string, is replace.Format,
	open func(target string) (*os.File, uint64, error)) (*Writer, error) {
	target, err := Writable(path, is)
	if err != nil {
		return nil, err
	}
	f, mark, err := open(target)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	return &Writer{path: target, f: f, mark: mark}, nil
}

// Mark identifies the file to other ranks: no two files have the same.
func (w *Writer) Mark() uint64 { return w.mark }

// Writable says why no file of a format could be written at a path, as far as that can be known
// beforehand, and else what symbolic links there lead to.
func Writable(path string, is replace.Format) (target string, err error) {
	target, special, err := replace.Target(path, is)
	if err == nil && special {
		err = errors.New("it is a device or a pipe, and blocks are not written in order")
	}
	if err == nil {
		_, err = os.Stat(filepath.Dir(target))
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	return target, nil
}

// Spares says why writing a file at a path would overwrite another one before that is read.
func Spares(path, other string) error {
	target, err := Writable(path, replace.Format{})
	if err != nil || !replace.Overwrites(target, other) {
		return err
	}
	return fmt.Errorf("%s is where %s is written until it is complete; rename it, or "+
		"write another file", other, path)
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
	binary.LittleEndian.PutUint64(head[8:], blockSum(w.mark, n, section, payload))
	if _, err := w.f.WriteAt(append(head, payload...), blockOffset(n)); err != nil {
		return fmt.Errorf("writing %s: %w", w.path, err)
	}
	return nil
}

// Sync waits until the blocks of this rank are in the file for all hosts, and for good.
func (w *Writer) Sync() error {
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("writing %s: %w", w.path, err)
	}
	return nil
}

// Finish makes the file complete, with blocks 0 to blocks-1, which hold so many records, and a
// description of what they are. One rank does it when all have written their blocks and called
// Sync.
func (w *Writer) Finish(blocks, records uint64, description []byte) error {
	if len(description) > MaxDescriptionBytes {
		return fmt.Errorf("archive: a description of %d bytes; at most %d fit",
			len(description), MaxDescriptionBytes)
	}
	err := w.f.Truncate(blockOffset(blocks))
	if err == nil {
		err = replace.Finish(w.f, w.path, encodeHeader(blocks, records, w.mark, description))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", w.path, err)
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
	Records     uint64 // in all blocks
	Description []byte

	mark uint64
	sum  uint64 // of the header; it identifies the file, as the header has its mark
	path string
	f    *os.File
}

// Open verifies the header and the size of a file.
func Open(path string) (*Reader, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading what farhash has saved: %w", err)
	}
	r := &Reader{path: path, f: f}
	if err := r.readHeader(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s %w", path, err), f.Close())
	}
	return r, nil
}

func (r *Reader) readHeader() error {
	head := make([]byte, headerBytes)
	if _, err := io.ReadFull(io.NewSectionReader(r.f, 0, headerBytes), head); err != nil {
		return fmt.Errorf("is no checkpoint or saved table of farhash: it ends within the header "+
			"(%w)", err)
	}
	if err := r.decodeHeader(head); err != nil {
		return err
	}
	r.sum = binary.LittleEndian.Uint64(head[headerBytes-8:])
	info, err := r.f.Stat()
	if err != nil {
		return err
	}
	switch size, want := info.Size(), blockOffset(r.Blocks); {
	case size < want:
		return fmt.Errorf("is truncated: it ends within block %d of %d, at byte %d instead of %d",
			(size-headerBytes)/stride, r.Blocks, size, want)
	case size > want:
		return fmt.Errorf("is corrupt: it has been added to after its %d blocks, and has %d "+
			"bytes instead of %d", r.Blocks, size, want)
	}
	return nil
}

// ReadBlock reads and verifies block n. buf has PayloadBytes bytes; the payload is
// in it.
func (r *Reader) ReadBlock(n uint64, buf []byte) (section uint32, payload []byte, err error) {
	if n >= r.Blocks {
		return 0, nil, fmt.Errorf("archive: %s has no block %d, only %d", r.path, n, r.Blocks)
	}
	var head [headBytes]byte
	if _, err := r.f.ReadAt(head[:], blockOffset(n)); err != nil {
		return 0, nil, fmt.Errorf("reading block %d of %s: %w", n, r.path, err)
	}
	section = binary.LittleEndian.Uint32(head[:])
	length := binary.LittleEndian.Uint32(head[4:])
	if length > PayloadBytes || int(length) > len(buf) {
		return 0, nil, fmt.Errorf("%s is corrupt: block %d says it has %d bytes",
			r.path, n, length)
	}
	payload = buf[:length]
	if _, err := r.f.ReadAt(payload, blockOffset(n)+headBytes); err != nil {
		return 0, nil, fmt.Errorf("reading block %d of %s: %w", n, r.path, err)
	}
	if sum := binary.LittleEndian.Uint64(head[8:]); sum != blockSum(r.mark, n, section, payload) {
		return 0, nil, fmt.Errorf("%s is corrupt: block %d fails its checksum; it is "+
			"damaged, or from another place or file", r.path, n)
	}
	return section, payload, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.f.Close() }

func blockOffset(n uint64) int64 { return headerBytes + int64(n)*stride }

// blockSum is the checksum of a block in its place in the file with a mark.
func blockSum(mark, n uint64, section uint32, payload []byte) uint64 {
	var place [20]byte
	binary.LittleEndian.PutUint64(place[:], mark)
	binary.LittleEndian.PutUint64(place[8:], n)
	binary.LittleEndian.PutUint32(place[16:], section)
	return xxh3.HashSeed(payload, xxh3.Hash(place[:]))
}

func encodeHeader(blocks, records, mark uint64, description []byte) []byte {
	head := make([]byte, headerBytes)
	copy(head, magic)
	for i, word := range []uint64{version, blocks, PayloadBytes, uint64(len(description)), mark,
		records} {
		binary.LittleEndian.PutUint64(head[8+8*i:], word)
	}
	copy(head[descriptionAt:], description)
	binary.LittleEndian.PutUint64(head[headerBytes-8:], xxh3.Hash(head[:headerBytes-8]))
	return head
}

func (r *Reader) decodeHeader(head []byte) error {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(head[8+8*i:]) }
	found, payload, length := word(0), word(2), word(3)
	r.Blocks, r.mark, r.Records = word(1), word(4), word(5)
	switch {
	case !bytes.HasPrefix(head, []byte(magic)):
		return errors.New("is no checkpoint or saved table of farhash")
	case binary.LittleEndian.Uint64(head[headerBytes-8:]) != xxh3.Hash(head[:headerBytes-8]):
		return errors.New("is corrupt: its header fails the checksum")
	case found != version:
		return fmt.Errorf("has version %d, and this program reads version %d; load it with the "+
			"build that has saved it, or save it anew with this one", found, version)
	case payload != PayloadBytes:
		return fmt.Errorf("has blocks of %d bytes, and this program reads blocks of %d", payload,
			PayloadBytes)
	case length > MaxDescriptionBytes || r.Blocks > 1<<40:
		return errors.New("is corrupt: its header makes no sense")
	}
	r.Description = head[descriptionAt : descriptionAt+length]
	return nil
}
