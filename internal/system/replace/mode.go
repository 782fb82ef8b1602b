package replace

import (
	"io/fs"
	"os"
)

// newMode is the mode to make a file with that is to replace target: the system takes away what
// the user's umask denies. Nobody else reads what is to replace a file until its mode is known.
func newMode(target string) fs.FileMode {
	if _, err := os.Stat(target); err == nil {
		return 0o600
	}
	return 0o666
}

// inherit gives a file that is complete the mode of the one that it replaces, and its owner and
// group where that is permitted. In place of a group that it cannot be given to, its group gets
// no more than all others.
func inherit(f *os.File, target string) error {
	is, err := os.Stat(target)
	if err != nil {
		return nil // there is none; it has the mode of a new file
	}
	mode := is.Mode().Perm()
	if !give(f, is) {
		mode = withoutGroup(mode)
	}
	return f.Chmod(mode)
}

// withoutGroup is a mode whose group may do no more than all others may.
func withoutGroup(mode fs.FileMode) fs.FileMode { return mode &^ (^mode & 0o007 << 3) }
