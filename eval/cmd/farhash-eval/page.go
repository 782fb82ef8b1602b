package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/eval/internal/page"
)

// pageCommand writes the tables of eval/docs/papers.md or nessie.md.
func pageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "page FILE.md",
		Short: "Write the tables of a page of eval/docs from what commands have printed",
		Long: `Writes the tables of papers.md or nessie.md again, from the output of commands in the
folder figures beside it. make figures runs these commands, and then this one.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			written, err := page.Write(filepath.Base(args[0]), string(text),
				page.Open(filepath.Join(filepath.Dir(args[0]), "figures")))
			if err != nil {
				return err
			}
			return os.WriteFile(args[0], []byte(written), 0o644)
		},
	}
}
