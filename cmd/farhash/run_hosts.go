package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/internal/launch"
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
		"HOST:PORT where rank 0 listens for the ranks of all hosts")
	flags.IntVar(&f.nodes, "nnodes", 1, "number of hosts, each with as many ranks")
	flags.IntVar(&f.node, "node-rank", 0, "which of them this one is, from 0")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with what only the ranks of the job "+
		"know (default: "+launch.TokenVariable+", or "+launch.TokenFileVariable+")")
}

// apply makes the ranks of this host a part of a job of several.
func (f *hostFlags) apply(opts *launch.Options) error {
	if f.rendezvous == "" {
		if f.nodes != 1 || f.node != 0 || f.tokenFile != "" {
			return fmt.Errorf("--nnodes, --node-rank and --token-file need --rendezvous HOST:PORT")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(f.rendezvous)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("--rendezvous %q is no HOST:PORT; give an address of the first host "+
			"that the others reach, such as 10.0.0.1:29500", f.rendezvous)
	}
	if f.nodes < 1 || f.nodes > 1<<16 || f.node < 0 || f.node >= f.nodes {
		return fmt.Errorf("--node-rank must be 0 to --nnodes less 1, not %d of %d", f.node, f.nodes)
	}
	token, found, err := launch.FindToken(f.tokenFile)
	switch {
	case err != nil:
		return err
	case !found && f.nodes > 1:
		return fmt.Errorf("a job of several hosts needs a token that only its ranks know: write "+
			"one with head -c 24 /dev/urandom | base64 > token, copy it to all hosts, and give "+
			"--token-file token, or set %s or %s", launch.TokenVariable, launch.TokenFileVariable)
	case !found:
		token = launch.NewToken()
	}
	opts.First, opts.Size = f.node*opts.Ranks, f.nodes*opts.Ranks
	opts.Job = launch.Rendezvous{Address: f.rendezvous, Token: token}.Job()
	opts.Env = append(opts.Env, launch.RendezvousVariable+"="+f.rendezvous,
		launch.TokenVariable+"="+token, farhash.EngineVariable+"=ucx")
	return nil
}
