package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/internal/system/regular"
	"github.com/farhash/farhash/internal/system/replace"
	"github.com/farhash/farhash/rma"
)

// Save writes the table to a file as it is in memory. Open maps it, and Load makes an
// index of its records, both with any number of ranks. The ranks write it together: path
// must mean the same file on each. It replaces what was there only when it is complete.
// Collective.
func (x *Index) Save(ctx context.Context, path string) error {
	s := &saver{t: x.t, path: path, digests: make([]uint64, x.t.ranks)}
	var err error
	if x.t.closed.Load() {
		err = errClosed
	}
	if err == nil {
		s.target, err = archive.Writable(path, imageFormat)
	}
	if err = s.open(ctx, err); err == nil {
		err = x.t.guarded(func() error { return s.segments(ctx) })
		err = s.finish(ctx, err)
		err = rma.AllSucceeded(ctx, x.t.job, "index: saving "+path, err)
	}
	return errors.Join(err, s.close(err != nil))
}

// imageFormat is the format of images.
var imageFormat = replace.Format{Name: "saved farhash index", Known: func(head []byte) bool {
	return bytes.HasPrefix(head, []byte(imageMagic))
}}

// saver writes an image.
type saver struct {
	t       *table
	path    string
	target  string // what links at the path lead to
	f       *os.File
	header  int64
	digests []uint64 // of segments; 0: another rank's
}

// open has rank 0 begin the file, and the others open it. Collective.
func (s *saver) open(ctx context.Context, failed error) error {
	job, mark := s.t.job, uint64(0)
	if failed == nil && job.Rank() == 0 {
		s.f, mark, failed = replace.Begin(s.target, imageMagic)
		failed = s.named(failed)
	}
	all, err := core.Gather(ctx, job, "index: saving "+s.path, []uint64{mark}, failed)
	if err == nil && job.Rank() != 0 {
		s.f, err = replace.Continue(s.target, all[0][0])
		err = s.named(err)
	}
	return rma.AllSucceeded(ctx, job, "index: saving "+s.path, err)
}

// named says what an error is of.
func (s *saver) named(err error) error {
	if err != nil {
		err = fmt.Errorf("index: saving %s: %w", s.path, err)
	}
	return err
}

// segments writes this rank's segments and their sums. The header has as much room as
// the largest digests need.
func (s *saver) segments(ctx context.Context) error {
	t := s.t
	d := t.describe(func(int) uint64 { return math.MaxUint64 })
	head, err := d.encode(0)
	if err != nil {
		return err
	}
	s.header = int64(len(head))
	for _, number := range t.ownSegments() {
		var sums []byte
		err := t.eachBlock(ctx, number, func(block int, words []uint64) error {
			at := t.segmentAt(s.header, number) + int64(block)*blockSumWords*8
			sums = binary.LittleEndian.AppendUint64(sums, blockSum(number, block, words))
			_, err := s.f.WriteAt(core.BytesOf(words), at)
			return err
		})
		var g []guide
		if err == nil {
			g, err = t.guidesOf(ctx, number)
		}
		if err == nil {
			_, err = s.f.WriteAt(g[0].marks, t.marksAt(s.header, number))
		}
		if err == nil {
			_, err = s.f.WriteAt(sums, t.sumsAt(s.header, number))
		}
		if err != nil {
			return s.named(err)
		}
		s.digests[number] = digestOf(sums, g[0].marks)
	}
	return s.named(s.f.Sync())
}

// finish completes the file when all ranks have written their segments. Collective.
func (s *saver) finish(ctx context.Context, failed error) error {
	all, err := core.Gather(ctx, s.t.job, "index: saving "+s.path, s.digests, failed)
	if err != nil || s.t.job.Rank() != 0 {
		return err
	}
	d := s.t.describe(func(number int) (digest uint64) {
		for _, digests := range all {
			digest |= digests[number]
		}
		return digest
	})
	head, err := d.encode(int(s.header))
	if err == nil {
		err = replace.Finish(s.f, s.target, head)
	}
	return err
}

// close closes the file, and removes it when it is not to be kept.
func (s *saver) close(remove bool) error {
	if s.f == nil {
		return nil
	}
	if remove && s.t.job.Rank() == 0 {
		return replace.Abandon(s.f)
	}
	return s.f.Close()
}

// Load makes an index of the records in a file that Save has written. KeySize, VariableKeys,
// ValueSize and Variable come from the file, and may be left out of cfg, as may Note. A truncated,
// foreign or corrupt file is refused on every rank. Collective.
func Load(ctx context.Context, job rma.Job, path string, cfg Config) (*Index, error) {
	m, err := sameImage(ctx, job, path)
	if err != nil {
		return nil, err
	}
	t := m.table(job)
	t.image = m
	defer m.close()
	err = m.accept(path, &cfg)
	for _, number := range t.ownSegments() { // before anybody uses a record
		if err == nil {
			err = m.verify(ctx, t, number)
		}
	}
	if err = rma.AllSucceeded(ctx, job, "index: loading "+path, err); err != nil {
		return nil, err
	}
	x, err := Build(ctx, job, cfg, (&Index{t: t}).Local(ctx))
	if err == nil && x.t.Records != m.Records {
		err = fmt.Errorf("index: %s is corrupt: it has %d records and says %d", path, x.t.Records,
			m.Records)
		return nil, errors.Join(err, x.Close()) // the same on every rank
	}
	return x, err
}

// accept refuses a configuration with other sizes, and completes its own.
func (d *description) accept(path string, cfg *Config) error {
	asked, file := formOf(cfg), formOf(&d.Config)
	if asked.keySize == 0 && !asked.keysVary {
		asked.keySize, asked.keysVary, asked.prefix = file.keySize, file.keysVary, file.prefix
	}
	if given := formOf(cfg) != (form{}); given && asked != file {
		return fmt.Errorf("index: %s has keys of %d bytes (variable: %v) and values of %d (%v), "+
			"and %d (%v) and %d (%v) are asked for; leave the sizes at 0", path, d.KeySize,
			d.VariableKeys, d.ValueSize, d.Variable, cfg.KeySize, cfg.VariableKeys, cfg.ValueSize,
			cfg.Variable)
	}
	cfg.KeySize, cfg.VariableKeys = d.KeySize, d.VariableKeys
	cfg.ValueSize, cfg.Variable = d.ValueSize, d.Variable
	if cfg.Note == "" {
		cfg.Note = d.Note
	}
	check := *cfg
	if err := check.complete(); err != nil {
		return fmt.Errorf("index: loading %s: %w", path, err)
	}
	return nil
}

// image is a file with a table as it is in memory. Numbers are little-endian; what is
// in segments is the same on all machines.
//
//	byte 0       magic, version, bytes of the header, bytes of the description: 8 each
//	     32      description, zeros, checksum of all before it in the last 8 bytes
//	header       segment 0 | segment 1 | ...       each of whole lines of 64 bytes
//	after        marks of segment 0 | ...          16 bytes each
//	after        zeros                             64 KiB
//	after        sums of segment 0 | ...           8 bytes for each block of 64 KiB
//
// A header has whole pages, so that segments begin at lines also where the file is mapped.
// It has a digest of the sums and the marks of each segment.
//
// The last sum is the end mark of a file that is mapped. Where the file is truncated, Linux
// first removes the pages after its new end, and then fills the rest of its last page with
// zeros. The zeros before the sums are more than a page has. So a rank that has read such zeros in
// a table cannot read the last sum any more. A rank that can read it has read what was saved.
//
// Version 3 has keys of variable size, and version 4 a hybrid table; they are else as version 2.
// Version 1 has no marks and no zeros, and some borders of it are wrong. It is not mapped.
type image struct {
	description
	path        string
	f           *os.File
	header      int64  // bytes
	fingerprint uint64 // the checksum of the header, and so of all
	end         uint64 // the last sum
	memory      []byte // the whole file, if it is mapped
}

// description is what the header of an image says of a table, as JSON.
type description struct {
	Kind string `json:"kind"`
	Config
	Layout      int       `json:"layout"`                // 0; earlier programs had others
	OffsetBytes int       `json:"offsetBytes,omitempty"` // of an offset into the heap, 4 or 8
	Records     uint64    `json:"records"`
	ValuesBytes uint64    `json:"valuesBytes"`           // of all values
	Homes       uint64    `json:"homes"`                 // of each segment
	Slots       int       `json:"units"`                 // of each segment
	HeapWords   int       `json:"heapWords"`             // the most of a segment
	HeapRecords uint64    `json:"heapRecords,omitempty"` // of a hybrid table, in the heap
	Marker      []byte    `json:"marker,omitempty"`
	Unique      bool      `json:"unique,omitempty"` // it is known that no key has two records
	Segments    []segment `json:"segments"`         // by rank
}

type segment struct {
	Records uint64 `json:"records"`
	Marks   int    `json:"marks,omitempty"`
	Digest  uint64 `json:"digest"` // of its sums and its marks
}

const (
	kindImage      = "farhash index table"
	imageMagic     = "farindex"
	imageVersion   = 2
	imageVaryKeys  = 3 // the version of images whose keys vary
	imageHybrid    = 4 // the version of images of hybrid tables
	imagePage      = 4096
	imageGap       = 1 << 16 // bytes, as many as the largest pages have
	imageHead      = 32      // bytes before the description
	maxHeaderBytes = 1 << 28 // bytes
	maxSegments    = 1 << 20
	// blockSumWords is how many words of a segment have a sum.
	blockSumWords = viewWords
)

// describe describes a table whose segments have these digests.
func (t *table) describe(digest func(number int) uint64) description {
	d := t.description
	d.Kind, d.Segments = kindImage, slices.Clone(d.Segments)
	for number := range d.Segments {
		d.Segments[number].Digest = digest(number)
	}
	return d
}

// table is the table that is described, without memory.
func (d *description) table(job rma.Job) *table {
	t := &table{job: job, description: *d, form: formOf(&d.Config), ranks: len(d.Segments)}
	t.shape(d.Slots, d.HeapWords)
	return t
}

// check refuses a description that no table has. Nothing that it allows overflows.
func (d *description) check() error {
	c := d.Config
	if err := c.complete(); err != nil {
		return err
	}
	inline := c.Storage == Inline
	records := uint64(0)
	for _, s := range d.Segments {
		records += s.Records
		if s.Marks < 0 || uint64(s.Marks) > min(s.Records, d.Homes) {
			return fmt.Errorf("a segment of %d records and %d homes has %d marks", s.Records,
				d.Homes, s.Marks)
		}
	}
	switch {
	case d.Kind != kindImage:
		return fmt.Errorf("it is described as %.100q", d.Kind)
	case c != d.Config:
		return errors.New("its configuration is not complete")
	case d.OffsetBytes != 0 && inline || d.OffsetBytes != 4 && d.OffsetBytes != 8 && !inline:
		return fmt.Errorf("it has offsets of %d bytes", d.OffsetBytes)
	case len(d.Segments) < 1 || len(d.Segments) > maxSegments || records != d.Records:
		return fmt.Errorf("its %d segments have %d records, and all are %d", len(d.Segments),
			records, d.Records)
	case d.Homes < 1 || d.Homes > maxSlots || d.Slots > 2*maxSlots || uint64(d.Slots) < d.Homes:
		return fmt.Errorf("it has %d homes and %d slots", d.Homes, d.Slots)
	case d.HeapWords < 0 || d.HeapWords > min(1<<52, math.MaxInt) || inline && d.HeapWords > 0:
		return fmt.Errorf("it has a heap of %d words", d.HeapWords)
	case (c.InlineBytes > 0) != (c.Storage == Hybrid) || c.Storage != Hybrid && d.HeapRecords > 0 ||
		d.HeapRecords > d.Records:
		return fmt.Errorf("it has %d bytes of a record in a slot, and %d records in the heap",
			c.InlineBytes, d.HeapRecords)
	case inline && len(d.Marker) != c.KeySize:
		return fmt.Errorf("empty slots have a key of %d bytes", len(d.Marker))
	}
	return nil
}

// sums is how many blocks of a segment have a sum.
func (t *table) sums() int { return (t.segment + blockSumWords - 1) / blockSumWords }

// segmentAt, marksAt and sumsAt are where a segment, its marks and its sums begin, after a header.
func (t *table) segmentAt(header int64, number int) int64 {
	return header + int64(number)*int64(t.segment)*8
}

func (t *table) marksAt(header int64, number int) int64 {
	at := t.segmentAt(header, t.ranks)
	for _, s := range t.Segments[:number] {
		at += int64(s.Marks) * markBytes
	}
	return at
}

func (t *table) sumsAt(header int64, number int) int64 {
	return t.marksAt(header, t.ranks) + imageGap + int64(number)*int64(t.sums())*8
}

// encode is the header, of the size given or, if that is 0, as large as need be.
func (d *description) encode(size int) ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	size = max(size, headerBytes(len(text)))
	b := make([]byte, size)
	copy(b, imageMagic)
	binary.LittleEndian.PutUint64(b[8:], d.version())
	binary.LittleEndian.PutUint64(b[16:], uint64(size))
	binary.LittleEndian.PutUint64(b[24:], uint64(len(text)))
	copy(b[imageHead:], text)
	binary.LittleEndian.PutUint64(b[size-8:], xxh3.Hash(b[:size-8]))
	return b, nil
}

// version is the version of the image. Programs that know no keys of variable size, or no hybrid
// tables, refuse theirs.
func (d *description) version() uint64 {
	switch {
	case d.Storage == Hybrid:
		return imageHybrid
	case d.VariableKeys:
		return imageVaryKeys
	}
	return imageVersion
}

func headerBytes(text int) int {
	return (imageHead + text + 8 + imagePage - 1) / imagePage * imagePage
}

// openImage opens a file and verifies its header and its size.
func openImage(path string) (*image, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	m := &image{path: path, f: f}
	if err := m.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("index: %s %w", path, err), f.Close())
	}
	return m, nil
}

// read reads the header.
func (m *image) read() error {
	info, err := m.f.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, imageHead)
	if _, err := m.f.ReadAt(head, 0); err != nil && err != io.EOF {
		return err
	}
	if !bytes.HasPrefix(head, []byte(imageMagic)) {
		return errors.New("is no index of farhash; one that an earlier build has saved as " +
			"records alone has to be built and saved anew")
	}
	version, size := binary.LittleEndian.Uint64(head[8:]), binary.LittleEndian.Uint64(head[16:])
	text := binary.LittleEndian.Uint64(head[24:])
	switch {
	case version < imageVersion || version > imageHybrid:
		return fmt.Errorf("has version %d, and this program reads versions %d to %d; build the "+
			"index anew and save it", version, imageVersion, imageHybrid)
	case text > maxHeaderBytes || size > maxHeaderBytes ||
		size < uint64(headerBytes(int(text))) || size%imagePage != 0:
		return errors.New("is corrupt: its header makes no sense")
	case int64(size) > info.Size():
		return errors.New("is truncated: it ends within its header")
	}
	head = make([]byte, size)
	if _, err := m.f.ReadAt(head, 0); err != nil {
		return err
	}
	m.header, m.fingerprint = int64(size), binary.LittleEndian.Uint64(head[size-8:])
	if m.fingerprint != xxh3.Hash(head[:size-8]) {
		return errors.New("is corrupt: its header fails the checksum")
	}
	if err := json.Unmarshal(head[imageHead:imageHead+text], &m.description); err != nil {
		return fmt.Errorf("is corrupt: %w", err)
	}
	if m.Layout != 0 {
		return errors.New("has linear probing or cuckoo hashing, which this program has no more; " +
			"build the index anew and save it")
	}
	if err := m.check(); err != nil {
		return fmt.Errorf("is corrupt: %w", err)
	}
	if version != m.version() {
		return fmt.Errorf("is corrupt: its version is %d and should be %d", version, m.version())
	}
	t := m.table(nil)
	if float64(t.segment+int(t.Homes)*markBytes)*float64(t.ranks) > 1<<58 {
		return errors.New("is corrupt: it says that it is larger than any file")
	}
	want := t.sumsAt(m.header, t.ranks)
	if info.Size() != want {
		return fmt.Errorf("is truncated or has been added to: it has %d bytes and should "+
			"have %d", info.Size(), want)
	}
	end := make([]byte, 8)
	_, err = m.f.ReadAt(end, want-8)
	m.end = binary.LittleEndian.Uint64(end)
	return err
}

// verify verifies the sums of a segment.
func (m *image) verify(ctx context.Context, t *table, number int) error {
	sums, marks := make([]byte, t.sums()*8), make([]byte, t.Segments[number].Marks*markBytes)
	gap := make([]byte, imageGap)
	_, err := m.f.ReadAt(sums, t.sumsAt(m.header, number))
	_, err2 := m.f.ReadAt(marks, t.marksAt(m.header, number))
	_, err3 := m.f.ReadAt(gap, t.marksAt(m.header, t.ranks))
	if err = errors.Join(err, err2, err3); err != nil {
		return fmt.Errorf("index: reading %s: %w", m.path, err)
	}
	if digestOf(sums, marks) != m.Segments[number].Digest {
		return fmt.Errorf("index: %s is corrupt: the sums and marks of segment %d fail their "+
			"checksum", m.path, number)
	}
	if len(bytes.Trim(gap, "\x00")) > 0 {
		return fmt.Errorf("index: %s is corrupt: bytes before its sums are not zero", m.path)
	}
	return t.eachBlock(ctx, number, func(block int, words []uint64) error {
		if binary.LittleEndian.Uint64(sums[block*8:]) != blockSum(number, block, words) {
			return fmt.Errorf("index: %s is corrupt: block %d of segment %d fails its checksum",
				m.path, block, number)
		}
		return nil
	})
}

// digestOf is what the header says of the sums and the marks of a segment.
func digestOf(sums, marks []byte) uint64 {
	h := xxh3.New()
	_, _ = h.Write(sums)
	_, _ = h.Write(marks)
	return h.Sum64()
}

// eachBlock reads a segment block by block.
func (t *table) eachBlock(ctx context.Context, number int,
	use func(block int, words []uint64) error) error {
	v, err := t.newView(number)
	if err != nil {
		return err
	}
	defer v.close()
	for block := range t.sums() {
		at := block * blockSumWords
		words, err := v.read(ctx, at, min(blockSumWords, t.segment-at))
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = use(block, words)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// blockSum is the checksum of a block in its place.
func blockSum(number, block int, words []uint64) uint64 {
	return xxh3.HashSeed(core.BytesOf(words), uint64(number)<<40+uint64(block)+1)
}

// close closes the file, and unmaps its memory.
func (m *image) close() error {
	if m == nil || m.f == nil {
		return nil
	}
	err := errors.Join(memory.UnmapFile(m.memory), m.f.Close())
	m.memory, m.f = nil, nil
	return err
}
