package run

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/system/launch"
)

// hostFlags are the flags of run for a job of several hosts.
type hostFlags struct {
	rendezvous  string
	nodes, node int
	tokenFile   string
}

func (f *hostFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.rendezvous, "rendezvous", "",
		"`HOST:PORT` where rank 0 listens for the ranks of all hosts")
	flags.IntVar(&f.nodes, "nnodes", 1, "`N` hosts, each with as many ranks")
	flags.IntVar(&f.node, "node-rank", 0, "number `I` of this host, from 0")
	flags.StringVar(&f.tokenFile, "token-file", "", "`FILE` with the token, which only the ranks "+
		"of the job know (default: "+launch.TokenVariable+", or "+launch.TokenFileVariable+")")
}

// logVariable is where UCX reports errors. Without it they mix with the output of the program.
const logVariable = "UCX_LOG_FILE"

// apply makes the ranks of this host a part of a job of several.
func (f *hostFlags) apply(opts *launch.Options) error {
	if f.rendezvous == "" {
		if f.nodes != 1 || f.node != 0 || f.tokenFile != "" {
			return errors.New("--nnodes, --node-rank and --token-file need --rendezvous HOST:PORT")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(f.rendezvous)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("--rendezvous %q is no HOST:PORT; give an address of the first host "+
			"that the others can reach, such as 10.0.0.1:29500", f.rendezvous)
	}
	if f.nodes < 1 || f.nodes > 1<<16 {
		return fmt.Errorf("--nnodes must be 1 to %d, not %d", 1<<16, f.nodes)
	}
	if f.node < 0 || f.node >= f.nodes {
		return fmt.Errorf("--node-rank must be 0 to --nnodes minus 1, not %d of %d", f.node,
			f.nodes)
	}
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 1<<16-1 {
		return fmt.Errorf("--rendezvous %q: the port must be 1 to %d", f.rendezvous, 1<<16-1)
	}
	token, found, err := launch.FindToken(f.tokenFile)
	switch {
	case err != nil:
		return cli.Failure(err)
	case !found && f.nodes > 1:
		return fmt.Errorf("a job of several hosts needs a token that only its ranks know: write "+
			"one with umask 077; head -c 24 /dev/urandom | base64 > token, copy it to all hosts, "+
			"and give --token-file token, or set %s or %s", launch.TokenVariable,
			launch.TokenFileVariable)
	case !found:
		token = launch.NewToken()
	}
	if text := launch.TokenWarning(f.tokenFile); text != "" {
		cli.Warn(errors.New(text))
	}
	opts.First, opts.Size = f.node*opts.Ranks, f.nodes*opts.Ranks
	opts.Job = launch.Rendezvous{Address: f.rendezvous, Token: token}.Job()
	opts.Env = append(opts.Env, launch.RendezvousVariable+"="+f.rendezvous,
		launch.TokenVariable+"="+token, farhash.EngineVariable+"=ucx")
	if os.Getenv(logVariable) == "" {
		opts.Env = append(opts.Env, logVariable+"=stderr")
	}
	return nil
}
