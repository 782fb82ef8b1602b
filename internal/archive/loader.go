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

// NewLoader opens a file and verifies all of it, each rank its share, before anybody
// uses a record. accept looks at the description. Collective: either every rank gets
// a Loader or none does.
func NewLoader(ctx context.Context, job rma.Job, path string,
	accept func(description []byte) error) (*Loader, error) {
	r, err := Open(path)
	l := &Loader{Reader: r, job: job}
	if err == nil {
		err = accept(r.Description)
	}
	if err = same(ctx, job, path, l.Reader, err); err == nil {
		err = l.blocks(ctx, func(uint32, []byte) error { return nil })
	}
	if err = rma.AllSucceeded(ctx, job, "loading "+path, err); err != nil {
		if r != nil {
			_ = r.Close()
		}
		return nil, err
	}
	return l, nil
}

// same makes sure that all ranks have opened the same file, or equal ones. Collective.
func same(ctx context.Context, job rma.Job, path string, r *Reader, failed error) error {
	if err := rma.AllSucceeded(ctx, job, "loading "+path, failed); err != nil {
		return err
	}
	err := rma.Agree(ctx, job, "loading "+path, rma.Field{
		Name: "the files that ranks find there (their checksums)", Value: r.sum})
	if err != nil {
		err = fmt.Errorf("%w; ranks on several hosts need a folder that all share, or copies of "+
			"one file", err)
	}
	return err
}

// Each calls use with the payload of each block of a section in this rank's share.
func (l *Loader) Each(ctx context.Context, section uint32, use func(payload []byte) error) error {
	return l.blocks(ctx, func(s uint32, payload []byte) error {
		if s != section {
			return nil
		}
		return use(payload)
	})
}

// blocks reads this rank's share.
func (l *Loader) blocks(ctx context.Context, use func(section uint32, payload []byte) error) error {
	buf := make([]byte, PayloadBytes)
	for n := uint64(l.job.Rank()); n < l.Blocks; n += uint64(l.job.Size()) {
		section, payload, err := l.ReadBlock(n, buf)
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = use(section, payload)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
