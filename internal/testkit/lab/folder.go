package lab

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// Folder is a directory for the files of tests. It is in memory where it can: a disk takes
// longer to synchronise than all the rest of a test. It is removed when this process has ended,
// in whatever way: a shell waits for the end of its input, which is open as long as the process
// lives. Processes that this one starts then have the same.
var Folder = sync.OnceValues(func() (dir string, err error) {
	if dir := os.Getenv(folderVariable); dir != "" {
		return dir, nil
	}
	parent := "/dev/shm"
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		parent = ""
	}
	if dir, err = os.MkdirTemp(parent, "farhash-test-"); err != nil {
		return "", err
	}
	remove := exec.Command("/bin/sh", "-c", `trap "" HUP INT TERM; read end; rm -rf "$0"`, dir)
	if _, err = remove.StdinPipe(); err == nil {
		err = remove.Start()
	}
	go func() { _ = remove.Wait() }() // which keeps the input open
	return dir, errors.Join(err, os.Setenv(folderVariable, dir))
})

const folderVariable = "FARHASH_TEST_FOLDER"

// TempFolder makes a folder in the [Folder] for one test.
func TempFolder(t testing.TB) string {
	t.Helper()
	folder, err := Folder()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
