package replace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/farhash/farhash/internal/system/regular"
)

// partialSuffix marks a file that is not complete.
const partialSuffix = ".partial"

// maxTries is how often Begin tries again where another process renames the file at the same time.
const maxTries = 100

// A file that is not complete begins with its mark, until its writer puts a header there.
const (
	markMagic = "farhash partial\x00"
	markBytes = len(markMagic) + 8
)

// Begin makes the file that is to become target when it is complete, empty except for its mark, by
// which Continue knows it. As long as it is open no other Begin of the target succeeds, in no
// process of any host: two that wrote into one file would both spoil it, and the complete one
// that it replaces would be lost. What a process of this user that has died left behind is removed:
// it begins with a mark, or with magic as the header does. Whatever else has the name is
// refused: somebody may need it, or may have put it there so that another file is overwritten.
func Begin(target, magic string) (f *os.File, mark uint64, err error) {
	path := target + partialSuffix
	for range maxTries {
		f, err := openJoint(path, os.O_CREATE|os.O_EXCL, newMode(target))
		found := errors.Is(err, fs.ErrExist)
		if err != nil && !found {
			return nil, 0, err
		}
		if found {
			f, err = openJoint(path, 0, 0)
		}
		if err == nil {
			mark, err = claim(f, found, magic)
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

// claim makes a file this process's own and gives it a mark. One that was found is removed, as its
// mode may be the mode of another target. The error is fs.ErrNotExist then, and where another
// process has completed or removed it.
func claim(f *os.File, found bool, magic string) (mark uint64, err error) {
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
	head, err := readHead(f)
	if err != nil {
		return 0, err
	}
	if head != "" && !strings.HasPrefix(head, markMagic) && !strings.HasPrefix(head, magic) {
		return 0, fmt.Errorf("%s is no file that a save has left behind; rename or remove it",
			f.Name())
	}
	if found {
		return 0, errors.Join(os.Remove(f.Name()), fs.ErrNotExist)
	}
	return imprint(f)
}

// imprint gives a new file a mark that no other has.
func imprint(f *os.File) (mark uint64, err error) {
	mark = rand.Uint64()
	if _, err := f.WriteAt([]byte(markText(mark)), 0); err != nil {
		return 0, err
	}
	return mark, f.Sync() // or another host would not see it yet
}

// markText is how a file with a mark begins.
func markText(mark uint64) string {
	return string(binary.LittleEndian.AppendUint64([]byte(markMagic), mark))
}

// readHead returns the mark that a file begins with, or what is in its place.
func readHead(f *os.File) (string, error) {
	var head [markBytes]byte
	n, err := f.ReadAt(head[:], 0)
	if err == io.EOF {
		err = nil
	}
	return string(head[:n]), err
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
	f, err := openJoint(target+partialSuffix, 0, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &otherError{target + partialSuffix}
	}
	if err != nil {
		return nil, err
	}
	head, err := readHead(f)
	if err == nil && head != markText(mark) {
		err = &otherError{f.Name()}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openJoint opens a file that several hosts write parts of at once.
func openJoint(path string, flags int, mode fs.FileMode) (*os.File, error) {
	return regular.OpenToWrite(path, jointFlags(path)|flags, mode)
}

// Finish makes a file that is whole except for its header, with which it begins, its target.
func Finish(f *os.File, target string, header []byte) error {
	_, err := f.WriteAt(header, 0)
	if err == nil {
		err = inherit(f, target)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), target)
	}
	return err
}

// Overwrites reports whether writing a target would overwrite another file before it is complete.
func Overwrites(target, other string) bool { return Same(target+partialSuffix, other) }

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
