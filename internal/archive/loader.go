package archive

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// Loader reads a file with all ranks of a job: rank r takes blocks r, r+ranks, ...
type Loader struct {
	*Reader
	job rma.Job
}

// Count is how many records are in the payload of a block. An error says why they cannot be loaded,
// as "is corrupt: ...".
type Count func(section uint32, payload []byte) (records int, err error)

// Fixed counts records that all have so many bytes.
func Fixed(recordBytes int) Count {
	return func(_ uint32, payload []byte) (int, error) {
		if len(payload)%recordBytes != 0 {
			return 0, fmt.Errorf("is corrupt: it has %d bytes, no whole records of %d",
				len(payload), recordBytes)
		}
		return len(payload) / recordBytes, nil
	}
}

// NewLoader opens a file and verifies all of it, each rank its share, before anybody
// uses a record: a block has whole records, and there are as many as the header says. accept
// examines the description. Collective: either every rank gets a Loader or none does.
func NewLoader(ctx context.Context, job rma.Job, path string, count Count,
	accept func(description []byte) error) (*Loader, error) {
	r, err := Open(path)
	l := &Loader{Reader: r, job: job}
	if err == nil {
		err = accept(r.Description)
	}
	if err = same(ctx, job, path, l.Reader, err); err == nil {
		err = l.verify(ctx, count)
	}
	if err = rma.AllSucceeded(ctx, job, "loading "+path, err); err != nil {
		if r != nil {
			_ = r.Close()
		}
		return nil, err
	}
	return l, nil
}

// verify reads all blocks and counts their records. Collective.
func (l *Loader) verify(ctx context.Context, count Count) error {
	c, err := newCells(ctx, l.job, "records", 1)
	if err != nil {
		return err
	}
	defer c.Close()
	mine := uint64(0)
	err = l.blocks(ctx, func(n uint64, section uint32, payload []byte) error {
		records, err := count(section, payload)
		if err != nil {
			return fmt.Errorf("%s: block %d %w", l.path, n, err)
		}
		mine += uint64(records)
		return nil
	})
	if err == nil {
		_, err = c.Add(ctx, 0, 0, mine)
	}
	if err = rma.AllSucceeded(ctx, l.job, "loading "+l.path, err); err != nil {
		return err
	}
	all, err := c.Load(ctx, 0, 0)
	if err == nil && all != l.Records {
		err = fmt.Errorf("%s is corrupt: its %d blocks have %d records, and its header "+
			"says %d", l.path, l.Blocks, all, l.Records)
	}
	return rma.AllSucceeded(ctx, l.job, "loading "+l.path, err) // nobody closes what others read
}

// same makes sure that all ranks have opened the same file, or equal ones. Collective.
func same(ctx context.Context, job rma.Job, path string, r *Reader, failed error) error {
	if err := rma.AllSucceeded(ctx, job, "loading "+path, failed); err != nil {
		return err
	}
	err := rma.Agree(ctx, job, "loading "+path, nil, rma.Field{
		Name: "the files that ranks find there (their checksums)", Value: r.sum})
	if err != nil {
		err = fmt.Errorf("%w; ranks on several hosts need a folder that all share, or copies of "+
			"one file", err)
	}
	return err
}

// Each calls use with the payload of each block of a section in this rank's share.
func (l *Loader) Each(ctx context.Context, section uint32, use func(payload []byte) error) error {
	return l.blocks(ctx, func(_ uint64, s uint32, payload []byte) error {
		if s != section {
			return nil
		}
		return use(payload)
	})
}

// blocks reads this rank's share.
func (l *Loader) blocks(ctx context.Context,
	use func(n uint64, section uint32, payload []byte) error) error {
	buf := make([]byte, PayloadBytes)
	for n := uint64(l.job.Rank()); n < l.Blocks; n += uint64(l.job.Size()) {
		section, payload, err := l.ReadBlock(n, buf)
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = use(n, section, payload)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
