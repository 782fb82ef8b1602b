package report

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// GraphFile is the file that a state space is written to, as flags name it.
type GraphFile struct {
	Path string // empty: none
	Most int    // states to write
}

// Register adds the flags --export and --max-export. usages say what they do.
func (t *GraphFile) Register(set *pflag.FlagSet, export, most string) {
	set.StringVar(&t.Path, "export", "", export)
	set.IntVar(&t.Most, "max-export", 100_000, most)
}

// Check refuses flags that do not go together. page is the file of --html.
func (t *GraphFile) Check(set *pflag.FlagSet, page string) error {
	switch {
	case t.Path == "" && set.Changed("max-export"):
		return errors.New("--max-export is for --export FILE")
	case t.Path != "" && t.Path == page:
		return errors.New("--export and --html name the same file")
	case t.Most < 1:
		return fmt.Errorf("--max-export must be at least 1, not %d", t.Most)
	}
	return nil
}
