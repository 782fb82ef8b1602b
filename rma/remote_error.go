package rma

import "fmt"

// RemoteError is an error of the owner of some operations when it carried them out.
type RemoteError struct {
	Rank int
	Text string
}

func (e *RemoteError) Error() string { return fmt.Sprintf("rank %d: %s", e.Rank, e.Text) }
