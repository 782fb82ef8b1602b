//go:build unix

package launch

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// startLauncher runs a role in ranks of a launcher that is a process of its own,
// alone in its process group.
func startLauncher(t *testing.T, ranks int, role string) (*exec.Cmd, *transcript) {
	t.Helper()
	return startLauncherBy(t, exec.Command(os.Args[0]), ranks, role)
}

// startLauncherBy starts the launcher by a command.
func startLauncherBy(t *testing.T, cmd *exec.Cmd, ranks int, role string) (*exec.Cmd,
	*transcript) {
	t.Helper()
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			t.Skipf("the tests were started to ignore %v, as by nohup or by & in a script", s)
		}
	}
	out := newTranscript()
	cmd.Env = append(os.Environ(),
		roleVariable+"=launcher:"+strconv.Itoa(ranks)+":"+role)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

func send(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// Ctrl-C in a terminal goes to the whole group of the launcher.
func TestSignalReachesRanksOnce(t *testing.T) {
	cmd, out := startLauncher(t, 3, "count")
	out.await("ready", 3)
	send(t, -cmd.Process.Pid, syscall.SIGINT)
	out.await("interrupted", 3)
	send(t, -cmd.Process.Pid, syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("launcher: %v", err)
	}
	if got := strings.Count(out.String(), "count 1\n"); got != 3 {
		t.Errorf("output %q, want each of 3 ranks to be interrupted once", out)
	}
	if !strings.HasSuffix(out.String(), "cleaned up\n") {
		t.Errorf("output %q, want the clean-up at the end", out)
	}
}

// What a terminal or its user sends reaches the ranks.
func TestSignalsArePassedOn(t *testing.T) {
	cmd, out := startLauncher(t, 2, "count")
	out.await("ready", 2)
	send(t, cmd.Process.Pid, syscall.SIGHUP)
	out.await(syscall.SIGHUP.String()+"\n", 2)
	shown := syscall.SIGQUIT.String() + "\n"
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		out.Write([]byte(shown + shown)) // if the signal has ended the launcher
		ended <- err
	}()
	send(t, cmd.Process.Pid, syscall.SIGQUIT)
	out.await(shown, 2)
	send(t, cmd.Process.Pid, syscall.SIGTERM)
	if err := <-ended; err != nil {
		t.Errorf("launcher: %v", err)
	}
}

// A signal that the launcher was started to ignore stays ignored, and SIGPIPE is the launcher's
// own. The ranks would have got them before what they get after them.
func TestSignalsThatStay(t *testing.T) {
	cmd, out := startLauncherBy(t,
		exec.Command("sh", "-c", `trap "" HUP; exec "$0"`, os.Args[0]), 2, "count")
	out.await("ready", 2)
	send(t, cmd.Process.Pid, syscall.SIGHUP)
	send(t, cmd.Process.Pid, syscall.SIGINT)
	out.await("interrupted", 2)
	send(t, cmd.Process.Pid, syscall.SIGPIPE)
	send(t, cmd.Process.Pid, syscall.SIGQUIT)
	out.await(syscall.SIGQUIT.String(), 2)
	send(t, cmd.Process.Pid, syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("launcher: %v", err)
	}
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGPIPE} {
		if strings.Contains(out.String(), s.String()) {
			t.Errorf("output %q: ranks got the signal %v", out, s)
		}
	}
}

func TestSecondInterruptKills(t *testing.T) {
	cmd, out := startLauncher(t, 2, "count")
	out.await("ready", 2)
	send(t, cmd.Process.Pid, syscall.SIGINT)
	out.await("interrupted", 2)
	send(t, cmd.Process.Pid, syscall.SIGINT)
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 137 {
		t.Errorf("exit code %d, want 137; output %q", got, out)
	}
	if !strings.HasSuffix(out.String(), "cleaned up\n") {
		t.Errorf("output %q, want the clean-up at the end", out)
	}
}

// Ranks that die of the signal that the user sent, or end with its code, are not reported.
func TestSignalDeathByRequest(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	for _, test := range []struct{ role, shows string }{
		{"hold:" + lock, "held"}, {"obey", "ready"},
	} {
		cmd, out := startLauncher(t, 2, test.role)
		out.await(test.shows, 2)
		send(t, cmd.Process.Pid, syscall.SIGTERM)
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 143 {
			t.Errorf("exit code %d, want 143; output %q", got, out)
		}
		if strings.Contains(out.String(), "farhash run:") {
			t.Errorf("output %q, want no report", out)
		}
	}
}

func TestRanksDieWithTheLauncher(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux kills the ranks of a launcher that is killed")
	}
	lock := filepath.Join(t.TempDir(), "lock")
	cmd, out := startLauncher(t, 3, "hold:"+lock)
	out.await("held", 3)
	send(t, cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	for rank := range 3 {
		// Waits for ever if the rank lives on.
		lockFile(lock + "." + strconv.Itoa(rank)).Close()
	}
}
