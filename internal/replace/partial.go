package replace

import (
	"errors"
	"fmt"
	"os"
)

// partialSuffix marks a file that is not complete.
const partialSuffix = ".partial"

// beginnings is how often Begin tries again where the file is renamed under its hands.
const beginnings = 100

// Begin makes the file that is to become target when it is complete, empty. As long as it is
// open no other Begin of the target succeeds, in no process of any host: two that wrote
// into one file would both spoil it, and the complete one that it replaces would be lost.
// What a process that has died left behind is used again.
func Begin(target string) (*os.File, error) {
	for range beginnings {
		f, err := os.OpenFile(target+partialSuffix, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := lock(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if named(f) {
			if err := f.Truncate(0); err != nil {
				return nil, errors.Join(err, f.Close())
			}
			return f, nil
		}
		_ = f.Close() // another has completed or removed it meanwhile
	}
	return nil, fmt.Errorf("%s is written by others all the time; give each its own file", target)
}

// Continue opens the file that another rank of the job has begun.
func Continue(target string) (*os.File, error) {
	return os.OpenFile(target+partialSuffix, os.O_RDWR, 0)
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
