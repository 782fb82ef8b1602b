package replace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// partialSuffix marks a file that is not complete.
const partialSuffix = ".partial"

// beginnings is how often Begin tries again where the file is renamed under its hands.
const beginnings = 100

// A file that is not complete begins with its mark, until its writer puts a header there.
const (
	markMagic = "farhash partial\x00"
	markBytes = len(markMagic) + 8
)

// Begin makes the file that is to become target when it is complete, empty but for its mark, by
// which Continue knows it. As long as it is open no other Begin of the target succeeds, in no
// process of any host: two that wrote into one file would both spoil it, and the complete one
// that it replaces would be lost. What a process that has died left behind is used again.
func Begin(target string) (f *os.File, mark uint64, err error) {
	for range beginnings {
		f, err := openJoint(target+partialSuffix, os.O_CREATE)
		if err != nil {
			return nil, 0, err
		}
		if err := lock(f); err != nil {
			return nil, 0, errors.Join(err, f.Close())
		}
		if named(f) {
			mark, err := imprint(f)
			if err != nil {
				return nil, 0, errors.Join(err, f.Close())
			}
			return f, mark, nil
		}
		_ = f.Close() // another has completed or removed it meanwhile
	}
	return nil, 0, fmt.Errorf("%s is written by others all the time; give each its own file",
		target)
}

// imprint empties a file and gives it a mark that no other has.
func imprint(f *os.File) (mark uint64, err error) {
	if err := f.Truncate(0); err != nil {
		return 0, err
	}
	mark = rand.Uint64()
	head := binary.LittleEndian.AppendUint64([]byte(markMagic), mark)
	if _, err := f.WriteAt(head, 0); err != nil {
		return 0, err
	}
	return mark, f.Sync() // or another host would not see it yet
}

// otherError says that the file at a path is not the one that another rank has begun.
type otherError struct{ Path string }

func (e *otherError) Error() string {
	return fmt.Sprintf("%s is not the file that rank 0 has begun; ranks on several hosts need a "+
		"folder that all of them share", e.Path)
}

// Continue opens the file that another rank of the job has begun, whose mark is given. Where it
// finds none, or one that others have left behind, that is an otherError.
func Continue(target string, mark uint64) (*os.File, error) {
	f, err := openJoint(target+partialSuffix, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &otherError{target + partialSuffix}
	}
	if err != nil {
		return nil, err
	}
	var head [markBytes]byte
	_, err = f.ReadAt(head[:], 0)
	switch {
	case err != nil && err != io.EOF:
		return nil, errors.Join(err, f.Close())
	case err != nil || string(head[:len(markMagic)]) != markMagic ||
		binary.LittleEndian.Uint64(head[len(markMagic):]) != mark:
		return nil, errors.Join(&otherError{f.Name()}, f.Close())
	}
	return f, nil
}

// openJoint opens a file that several hosts write parts of at once.
func openJoint(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|jointFlags(path)|flags, 0o600)
}

// Abandon removes a file that Begin has made, unless it has become its target, and closes it.
func Abandon(f *os.File) error {
	if !named(f) {
		return f.Close()
	}
	return errors.Join(os.Remove(f.Name()), f.Close())
}

// named reports whether a file is still found by its name.
func named(f *os.File) bool {
	this, err := f.Stat()
	if err != nil {
		return false
	}
	found, err := os.Stat(f.Name())
	return err == nil && os.SameFile(this, found)
}
