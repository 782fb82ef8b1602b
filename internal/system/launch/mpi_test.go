//go:build unix

package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mpiLauncher is a launcher of an MPI that may be installed.
type mpiLauncher struct {
	want     string   // the launcher that Detect is to report
	programs []string // names that it goes by
	version  string   // in what --version prints, for the names that are shared
	args     []string
	env      []string
}

func mpiLaunchers() []mpiLauncher {
	return []mpiLauncher{
		{
			OpenMPI, []string{"mpirun.openmpi", "mpirun"}, "Open MPI",
			[]string{"--oversubscribe", "--bind-to", "none"},
			[]string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
		},
		{MPICH, []string{"mpiexec.hydra", "mpiexec"}, "HYDRA", nil, nil},
	}
}

// path finds the launcher or skips the test.
func (l mpiLauncher) path(t *testing.T) string {
	t.Helper()
	for _, name := range l.programs {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cmd := exec.Command(path, "--version")
		cmd.Env = append(os.Environ(), l.env...)
		text, err := cmd.CombinedOutput()
		if err == nil && strings.Contains(string(text), l.version) {
			return path
		}
	}
	t.Skipf("%s is not installed: no %s", l.want, strings.Join(l.programs, " or "))
	return ""
}

// start starts the role detect in the ranks of a job; program and arguments
// come from command.
func (l mpiLauncher) start(
	t *testing.T, path, role string, ranks string, command ...string,
) (*exec.Cmd, *transcript, *transcript) {
	t.Helper()
	cmd := exec.Command(path, append(append([]string{"-n", ranks}, l.args...), command...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "FARHASH_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	// Two mpirun of Open MPI that start at once trip over each other in a common
	// directory for temporary files.
	cmd.Env = append(append(cmd.Env, l.env...), roleVariable+"="+role, "TMPDIR="+t.TempDir())
	stdout, stderr := newTranscript(), newTranscript()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stdout, stderr
}

// Two jobs run at the same time, one of them through a wrapper that stays
// between the launcher and the program.
func TestDetectUnderMPI(t *testing.T) {
	for _, l := range mpiLaunchers() {
		t.Run(l.want, func(t *testing.T) {
			path := l.path(t)
			lock := filepath.Join(t.TempDir(), "lock")
			held := lockFile(lock) // keeps the ranks of both jobs alive
			direct, out1, err1 := l.start(t, path, "detect:"+lock, "2", os.Args[0])
			wrapped, out2, err2 := l.start(t, path, "detect:"+lock, "3",
				"sh", "-c", `"$0"; exit $?`, os.Args[0])
			go func() {
				out1.await("\n", 2)
				out2.await("\n", 3)
				held.Close()
			}()
			end1, end2 := awaitEnd(direct, held), awaitEnd(wrapped, held)
			failure1, failure2 := <-end1, <-end2
			if failure1 != nil || failure2 != nil {
				t.Fatalf("jobs: %v, %v; output %q %q, %q %q",
					failure1, failure2, out1, err1, out2, err2)
			}
			key1 := l.check(t, memberships(t, out1.String()), 2)
			key2 := l.check(t, memberships(t, out2.String()), 3)
			if key1 == key2 {
				t.Errorf("two jobs have one key %q", key1)
			}
		})
	}
}

// awaitEnd waits for a job in the background. One that fails may print less than
// the other waits for, so it lets go of that.
func awaitEnd(cmd *exec.Cmd, held *os.File) <-chan error {
	end := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		if err != nil {
			held.Close()
		}
		end <- err
	}()
	return end
}

// check checks what the ranks of one job have found and returns its key.
func (l mpiLauncher) check(t *testing.T, got []Membership, size int) string {
	t.Helper()
	if len(got) != size {
		t.Fatalf("%d ranks, want %d: %+v", len(got), size, got)
	}
	for rank, m := range got {
		want := Membership{rank, size, size, got[0].Job, l.want}
		if m != want || m.Job == "" {
			t.Errorf("rank %d found %+v, want %+v", rank, m, want)
		}
	}
	return got[0].Job
}
