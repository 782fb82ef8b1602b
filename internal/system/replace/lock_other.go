//go:build !unix || solaris || aix

package replace

import "os"

// lock, own and give do nothing: here files cannot be locked, or have no owner that is known.
func lock(*os.File) error { return nil }

func own(*os.File) error { return nil }

func give(*os.File, os.FileInfo) bool { return true }
