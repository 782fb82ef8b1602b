//go:build !unix

package launch

import (
	"os"
	"syscall"
)

// groups is false: Run starts nothing here.
const groups = false

// Attributes are as for any process.
func Attributes() *syscall.SysProcAttr { return nil }

func signalGroup(int, syscall.Signal) {}

func terminalState(*os.File) (terminal, foreground bool) { return false, false }
