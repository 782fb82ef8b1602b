package doctor

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/cmd/farhash/internal/bench"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/explore"
	"github.com/farhash/farhash/cmd/farhash/internal/run"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

func TestMain(m *testing.M) {
	try.Main(m, func() *cobra.Command {
		return cli.Root(New(), run.New(), explore.New(),
			bench.New())
	})
}
