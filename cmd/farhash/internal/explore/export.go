package explore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/report"
)

// writeGraph writes what --export asks for, before the search.
func (f *exploreFlags) writeGraph(ctx context.Context, net *petri.Net, launched bool) error {
	switch {
	case f.export.Path == "":
		return nil
	case launched:
		return cli.Usage(errors.New("--export works in one process; leave the launcher out"))
	}
	err := markings(net).Write(ctx, f.export.Path, f.export.Most)
	switch {
	case ctx.Err() != nil:
		return cli.Interrupted(ctx, f.export.Path+" was not written")
	case err != nil:
		return fmt.Errorf("--export: %w; --max-export sets it", err)
	}
	return nil
}

// markings are the reachable markings of a net.
func markings(net *petri.Net) *report.Graph[[]int64] {
	return &report.Graph[[]int64]{Name: net.Name, Initial: [][]int64{net.Initial()},
		Key: func(marking []int64) string {
			var key []byte
			for _, n := range marking {
				key = binary.AppendVarint(key, n)
			}
			return string(key)
		},
		Text: func(marking []int64) string {
			_, text := tokens(net, marking)
			return text
		},
		Next: func(marking []int64, emit func(string, []int64)) {
			for i := range net.Transitions {
				if t := &net.Transitions[i]; t.Enabled(marking) {
					next := slices.Clone(marking)
					t.Fire(next)
					emit(t.ID, next)
				}
			}
		}}
}
