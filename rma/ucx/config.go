package ucx

import "time"

// DefaultSilence is for how long another host may be out of reach before its ranks are lost.
const DefaultSilence = 3 * time.Second

// Config says which rank of which job this process is.
type Config struct {
	Rank, Size int
	// Rendezvous is the HOST:PORT where rank 0 listens and to which the others connect.
	Rendezvous string
	// Token is a secret of the ranks of this job: the same random text on each, of at least
	// 8 bytes.
	Token string
	// Timeout bounds the wait for the other ranks, and for each operation of the litmus test; 0
	// means a minute.
	Timeout time.Duration
	// Silence is for how long another host may be out of reach before its ranks are lost; 0 means
	// DefaultSilence. Less than 0.8 s counts as that. Ranks of this host are lost when their
	// processes end.
	Silence time.Duration
	// Hidden windows allow no direct access: everything goes through UCX, also between ranks of
	// one host, and ranks of one host watch each other like those of two. For tests and for
	// measuring that path.
	Hidden bool
}
