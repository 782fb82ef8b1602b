// Package cli has what all subcommands of farhash share: exit codes and errors of the command line,
// arguments and flags, signals, memory, and how text is printed. [Run] does what a command line
// asks the command of [Root] for.
package cli
