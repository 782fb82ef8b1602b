// Package tables is the commands farhash tables and farhash check, for tables that have names.
package tables

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma/file"
	"github.com/farhash/farhash/set"
	"github.com/farhash/farhash/statespace/report"
)

// namedTable is a table that was opened by name.
type namedTable interface {
	file.Table
	Len(ctx context.Context) (uint64, error)
}

// openNamed opens a table that exists, whatever it is, of this user or of any.
func openNamed(name string, anyOwner bool) (namedTable, file.Info, error) {
	info, err := file.Stat(name)
	if err != nil {
		return nil, info, err
	}
	options := []file.Option{file.Existing()}
	switch {
	case anyOwner:
		options = append(options, file.AnyOwner())
	case info.Owner != os.Getuid():
		return nil, info, fmt.Errorf("it belongs to user %d; --any-owner opens it, if that user "+
			"is trusted", info.Owner)
	}
	var table namedTable
	switch info.Kind.Name {
	case "map":
		table, err = kv.Open(name, kv.Config{}, options...)
	case "cache":
		table, err = cache.Open(name, cache.Config{}, options...)
	case "set":
		table, err = set.Open(name, set.Config{}, options...)
	case "set of bytes":
		table, err = set.OpenBytes(name, set.BytesConfig{}, options...)
	default:
		err = fmt.Errorf("%s: this program knows no %s", info.Path, info.Kind.Name)
	}
	return table, info, err
}

// New is the command farhash tables.
func New() *cobra.Command {
	var asJSON, anyOwner bool
	cmd := &cobra.Command{
		Use:   "tables [DIR]",
		Short: "List the tables that have names",
		Args:  cli.OptionalArg("DIR"),
		Long: `Lists the sets, caches and maps in a directory, /dev/shm by default, that programs
open by name (kv.Open in Go, farhash.Map.open in Python, farhash_map_open in C): how
many entries each has, which memory it takes and may take, and how many processes have
it open. To count the entries it opens each table and reads all of it. A table of
another user is only opened with --any-owner: whoever may write to its file can make
this command fail, or wait for ever.

--json prints one object a line, with path, kind, entries, bytes, max_bytes, processes
and, where a table could not be opened, error.`,
		Example: `  farhash tables
  farhash tables /var/cache/app --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := file.DefaultDir
			if len(args) > 0 {
				dir = args[0]
			}
			ctx := cli.CatchSignals(cmd.Context())
			return listTables(ctx, dir, asJSON, anyOwner, os.Stdout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	cmd.Flags().BoolVar(&anyOwner, "any-owner", false, anyOwnerUsage)
	return cmd
}

// tableRow is what is listed of a table.
type tableRow struct {
	Path      string `json:"path"`
	Kind      string `json:"kind"`
	Entries   uint64 `json:"entries"`
	Bytes     uint64 `json:"bytes"`
	MaxBytes  uint64 `json:"max_bytes"`
	Processes int    `json:"processes"`
	Error     string `json:"error,omitempty"`
}

// rowOf describes a table. Its entries are counted.
func rowOf(ctx context.Context, info file.Info, anyOwner bool) tableRow {
	row := tableRow{Path: info.Path, Kind: info.Kind.Name, Bytes: info.Bytes, MaxBytes: info.Size,
		Processes: info.Members}
	table, _, err := openNamed(info.Path, anyOwner)
	if err == nil {
		row.Entries, err = table.Len(ctx)
		err = errors.Join(err, table.Close())
	}
	if err != nil {
		row.Error = err.Error()
	}
	return row
}

func listTables(ctx context.Context, dir string, asJSON, anyOwner bool, out io.Writer) error {
	infos, err := file.List(dir)
	if err != nil {
		return err
	}
	if asJSON {
		encoder := json.NewEncoder(out)
		for _, info := range infos {
			if err := encoder.Encode(rowOf(ctx, info, anyOwner)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(infos) == 0 {
		_, err := fmt.Fprintf(out, "no tables in %s\n", dir)
		return err
	}
	columns := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "name\tis a\tentries\ttakes\tmay take\tprocesses")
	for _, info := range infos {
		row := rowOf(ctx, info, anyOwner)
		entries := fmt.Sprint(row.Entries)
		if row.Error != "" {
			entries = report.Printable(row.Error)
		}
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\t%d\n", report.Printable(row.Path), row.Kind,
			entries,
			memory.Format(row.Bytes), memory.Format(row.MaxBytes), row.Processes)
	}
	return columns.Flush()
}

const anyOwnerUsage = "open tables of other users too, whose content is not trusted otherwise"

// NewCheck is the command farhash check.
func NewCheck() *cobra.Command {
	var anyOwner bool
	cmd := &cobra.Command{
		Use:   "check NAME",
		Short: "Check a table that has a name",
		Args: cli.OneArg("NAME", "the name of a table or the path of its file; for example: "+
			"farhash check /dev/shm/sessions"),
		Long: `Walks a table that programs open by name, and reports what is broken. Other processes
may work on it at the same time. A name is a path, or without a slash a file in
/dev/shm.

The exit code is 0 if nothing is broken.`,
		Example: `  farhash check sessions
  farhash check /var/cache/app/results`,
		RunE: func(cmd *cobra.Command, names []string) error {
			ctx := cli.CatchSignals(cmd.Context())
			return checkTable(ctx, names[0], anyOwner, os.Stdout)
		},
	}
	cmd.Flags().BoolVar(&anyOwner, "any-owner", false, anyOwnerUsage)
	return cmd
}

func checkTable(ctx context.Context, name string, anyOwner bool, out io.Writer) error {
	table, info, err := openNamed(name, anyOwner)
	if err != nil {
		return err
	}
	n := uint64(0)
	if err = table.Check(ctx); err == nil {
		n, err = table.Len(ctx)
	}
	if err = errors.Join(err, table.Close()); err != nil {
		return fmt.Errorf("%s: %w", info.Path, err)
	}
	_, err = fmt.Fprintf(out, "%s: nothing is broken; a %s, %d entries\n", info.Path,
		info.Kind.Name, n)
	return err
}
