package replace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"

	"github.com/farhash/farhash/internal/regular"
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
// that it replaces would be lost. What a process of this user that has died left behind is used
// again. Whatever else has the name is refused: somebody may need it, or may have put it there
// so that another file is overwritten.
func Begin(target string) (f *os.File, mark uint64, err error) {
	path := target + partialSuffix
	for range beginnings {
		f, err := openJoint(path, os.O_CREATE|os.O_EXCL)
		found := errors.Is(err, fs.ErrExist)
		if err != nil && !found {
			return nil, 0, err
		}
		if found {
			f, err = openJoint(path, 0)
		}
		if err == nil {
			mark, err = claim(f, found)
		}
		if err == nil {
			return f, mark, nil
		}
		_ = f.Close()
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, 0, err
		}
	}
	return nil, 0, fmt.Errorf("%s is written by others all the time; give each its own file",
		target)
}

// claim makes a file this process's own and gives it a mark. The error is fs.ErrNotExist where
// another has completed or removed it meanwhile.
func claim(f *os.File, found bool) (mark uint64, err error) {
	if found {
		err = own(f)
	}
	if err == nil {
		err = lock(f)
	}
	switch {
	case err != nil:
		return 0, err
	case !named(f):
		return 0, fs.ErrNotExist
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if _, err := readMark(f); err != nil && info.Size() > 0 {
		return 0, fmt.Errorf("%w; rename or remove it", err)
	}
	return imprint(f)
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

// readMark returns the mark of a file that is not complete.
func readMark(f *os.File) (uint64, error) {
	var head [markBytes]byte
	if _, err := f.ReadAt(head[:], 0); err != nil && err != io.EOF {
		return 0, err
	}
	if string(head[:len(markMagic)]) != markMagic {
		return 0, fmt.Errorf("%s is no file that was left behind before it was complete", f.Name())
	}
	return binary.LittleEndian.Uint64(head[len(markMagic):]), nil
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
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &otherError{target + partialSuffix}
	}
	if err != nil {
		return nil, err
	}
	if found, err := readMark(f); err != nil || found != mark {
		return nil, errors.Join(&otherError{f.Name()}, f.Close())
	}
	return f, nil
}

// openJoint opens a file that several hosts write parts of at once.
func openJoint(path string, flags int) (*os.File, error) {
	return regular.OpenToWrite(path, jointFlags(path)|flags)
}

// Finish makes a file that is whole but for its header, with which it begins, its target.
func Finish(f *os.File, target string, header []byte) error {
	_, err := f.WriteAt(header, 0)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), target)
	}
	return err
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
	found, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(this, found)
}
