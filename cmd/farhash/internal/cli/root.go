package cli

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
)

// Root is the command farhash with subcommands.
func Root(commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "farhash",
		Version:       Version(),
		Short:         "Hash tables in the memory of many processes",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return Usage(badFlag(c, err)) })
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Show the help of a command",
		Example: "  farhash help explore",
		RunE: func(_ *cobra.Command, given []string) error {
			about, _, err := root.Find(given)
			if err != nil {
				return Usage(err)
			}
			return about.Help()
		}})
	Add(root, commands...)
	return root
}

// Add adds subcommands.
func Add(root *cobra.Command, commands ...*cobra.Command) {
	for _, c := range commands {
		foldUsages(c)
		root.AddCommand(c)
	}
}

// Version is the version of the project, with the commit that it was built from where Go has
// recorded one: "0.1.0 (commit 5f9b9de2ad1c, go1.26.8)".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return farhash.Version()
	}
	commit := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = "commit " + s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			commit += ", modified"
		}
	}
	if commit != "" {
		commit += ", "
	}
	return farhash.Version() + " (" + commit + info.GoVersion + ")"
}
