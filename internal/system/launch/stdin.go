package launch

import (
	"io"
	"os"
)

// stdin is the standard input of rank 0.
type stdin struct {
	file *os.File // what the rank reads; nil for nothing
	feed *os.File // where this process writes what it reads for the rank
}

// openStdin decides how rank 0 gets its input. A terminal cannot be passed to it:
// the rank is in the background there, and reading would stop it.
func openStdin(r io.Reader) (stdin, error) {
	if r == nil {
		return stdin{}, nil
	}
	if file, ok := r.(*os.File); ok {
		terminal, foreground := terminalState(file)
		if terminal && !foreground {
			// Reading would stop this process as well.
			return stdin{}, nil
		}
		if !terminal {
			return stdin{file: file}, nil
		}
	}
	read, write, err := os.Pipe()
	return stdin{file: read, feed: write}, err
}

// start feeds the rank in the background. A read that is pending when the job
// ends cannot be cancelled, so Run does not wait for it.
func (s stdin) start(r io.Reader) {
	if s.feed == nil {
		return
	}
	go func() {
		defer s.feed.Close()
		_, _ = io.Copy(s.feed, r) // fails when the rank reads no further
	}()
}
