package archive_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// onHosts calls what two ranks do that are on hosts without a folder in common: each has its own
// thread, and the thread its own working folder. It returns what they say.
func onHosts(t *testing.T, folders []string, do func(job rma.Job, path string) error) []string {
	t.Helper()
	says := make([]string, len(folders))
	err := local.Run(len(folders), func(job rma.Job) error {
		runtime.LockOSThread() // for good: the thread ends with the rank
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return err
		}
		if err := unix.Chdir(folders[job.Rank()]); err != nil {
			return err
		}
		says[job.Rank()] = fmt.Sprint(do(job, "file"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return says
}

func files(t *testing.T, folder string) string {
	t.Helper()
	all, err := filepath.Glob(folder + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i] = filepath.Base(all[i])
	}
	return strings.Join(all, " ")
}

// Where hosts have no folder in common nothing is written, also where an earlier job has left a
// file that is not complete: half of the blocks would be in there.
func TestFoldersOfHosts(t *testing.T) {
	folders := []string{t.TempDir(), t.TempDir()}
	save := func(job rma.Job, path string) error {
		s, err := archive.NewSaver(t.Context(), job, path, "")
		if err != nil {
			return err
		}
		return s.Finish(t.Context(), s.Add(t.Context(), 0, []byte("record")), nil)
	}
	try := func(job rma.Job, path string) error { return archive.Try(t.Context(), job, path, "") }
	for _, left := range []string{"", "file.partial"} {
		if left != "" {
			if err := os.WriteFile(folders[1]+"/"+left, []byte("left"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for what, do := range map[string]func(rma.Job, string) error{"saving": save,
			"trying": try} {
			says := onHosts(t, folders, do)
			if !strings.Contains(says[0], "rank 1 failed") ||
				!strings.Contains(says[1], "need a folder that all of them share") {
				t.Errorf("%s, left behind %q: %q", what, left, says)
			}
			here, there := files(t, folders[0]), files(t, folders[1])
			if here != "" || there != left {
				t.Errorf("%s has made %q and %q", what, here, there)
			}
		}
	}
}

// All ranks load the same file, or copies of it.
func TestSameFile(t *testing.T) {
	folders := []string{t.TempDir(), t.TempDir()}
	for _, folder := range folders { // equal, except their marks
		write(t, folder+"/file", [][]byte{[]byte("one"), []byte("two")})
	}
	load := func(job rma.Job, path string) error {
		l, err := archive.NewLoader(t.Context(), job, path, archive.Fixed(1),
			func([]byte) error { return nil })
		if err == nil {
			err = l.Close()
		}
		return err
	}
	for rank, says := range onHosts(t, folders, load) {
		if !strings.Contains(says, "differ") || !strings.Contains(says, "copies of one file") {
			t.Errorf("two files: rank %d says %q", rank, says)
		}
	}
	content, err := os.ReadFile(folders[0] + "/file")
	if err == nil {
		err = os.WriteFile(folders[1]+"/file", content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for rank, says := range onHosts(t, folders, load) {
		if says != "<nil>" {
			t.Errorf("copies: rank %d says %q", rank, says)
		}
	}
}

// TestTry: what is there stays, and what cannot be written is an error on all ranks.
func TestTry(t *testing.T) {
	folder := t.TempDir()
	write(t, folder+"/file", [][]byte{[]byte("old")})
	try := func(job rma.Job, path string) error { return archive.Try(t.Context(), job, path, "") }
	same := []string{folder, folder}
	if says := onHosts(t, same, try); says[0] != "<nil>" || says[1] != "<nil>" ||
		files(t, folder) != "file" {
		t.Errorf("%q left %q", says, files(t, folder))
	}
	if got, err := readAll(folder + "/file"); err != nil || string(got[0]) != "old" {
		t.Errorf("the file reads %q, %v", got, err)
	}
	gone := func(job rma.Job, _ string) error {
		return archive.Try(t.Context(), job, folder+"/nowhere/file", "")
	}
	for rank, says := range onHosts(t, same, gone) {
		if !strings.Contains(says, "nowhere") {
			t.Errorf("rank %d says %q", rank, says)
		}
	}
}
