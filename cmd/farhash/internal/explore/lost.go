package explore

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/statespace/explore"
)

// lost is the error of a search that has lost a rank, with the command that continues it.
func (f *exploreFlags) lost(res *explore.Result) error {
	switch {
	case res.Saved != "":
		return fmt.Errorf("%s; continue from the checkpoint, which has %s, on any number "+
			"of hosts and ranks:\n  %s%s%s", res.Detail,
			plural.Of(int(res.SavedStates), "state"), f.resumeCommand,
			quote("--resume="+res.Saved), onHosts())
	case f.checkpoint != "":
		return fmt.Errorf("%s; there is no checkpoint yet, as the first one is written after %v "+
			"(--every): start again", res.Detail, f.every)
	}
	return fmt.Errorf("%s; nothing was saved: start again, with --checkpoint FILE to be able to "+
		"continue after the next loss", res.Detail)
}

// onHosts describes how to continue a search in the way in which a launcher has started it.
func onHosts() string {
	launcher, launched, err := farhash.Launched()
	switch {
	case err != nil || !launched:
		return ""
	case os.Getenv(launch.RendezvousVariable) != "":
		return "\nwith farhash run --rendezvous ... -- before it, on each host as this time"
	}
	return fmt.Sprintf("\nwith the command before it by which %s has started this one", launcher)
}

// resumeCommand is the command line that was given, without the flags that exclude --resume.
func resumeCommand(cmd *cobra.Command, file string) string {
	_, command, _ := strings.Cut(cmd.CommandPath(), " ")
	words := []string{quote(os.Args[0]), command, quote(file)}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch text := flag.Value.String(); {
		case flag.Name == "resume" || flag.Name == "trace":
		case flag.Value.Type() == "bool" && text == "true":
			words = append(words, "--"+flag.Name)
		default:
			words = append(words, quote("--"+flag.Name+"="+text))
		}
	})
	return strings.Join(words, " ") + " "
}

// quote makes one word for a shell.
func quote(word string) string {
	if !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// special reports whether a character might mean something to a shell.
func special(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		strings.ContainsRune("-_=./:,+@%", r))
}
