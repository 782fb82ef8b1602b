package launch

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
)

// The variables of a rendezvous, for jobs whose ranks connect by TCP. farhash run sets the first
// two; under another launcher they are set by hand, alike for all ranks.
const (
	RendezvousVariable = "FARHASH_RENDEZVOUS" // HOST:PORT where rank 0 listens
	TokenVariable      = "FARHASH_TOKEN"      // what only the ranks of the job know
	TokenFileVariable  = "FARHASH_TOKEN_FILE" // a file that holds it, where that is not set
)

// The smallest and the largest length of a token.
const (
	minTokenBytes = 8
	maxTokenBytes = 1 << 10
)

// Rendezvous is the address to which the ranks of a job connect, and their common secret.
type Rendezvous struct {
	Address string // HOST:PORT
	Token   string
}

// DetectRendezvous finds the rendezvous in the environment. It is an error if it is not there.
func DetectRendezvous() (Rendezvous, error) {
	r := Rendezvous{Address: os.Getenv(RendezvousVariable)}
	if r.Address == "" {
		return r, fmt.Errorf("%s is not set; start the ranks with farhash run --rendezvous, or "+
			"set it to HOST:PORT of rank 0, and %s to one random text, for all ranks",
			RendezvousVariable, TokenVariable)
	}
	token, found, err := FindToken("")
	if err == nil && !found {
		err = fmt.Errorf("%s=%s is set, and neither %s nor %s is; set one of them, alike for all "+
			"ranks", RendezvousVariable, Cut(r.Address), TokenVariable, TokenFileVariable)
	}
	r.Token = token
	return r, err
}

// FindToken reads the token of a job from a file, or if that is "" finds it in the
// environment.
func FindToken(file string) (token string, found bool, err error) {
	if file == "" {
		if token := os.Getenv(TokenVariable); token != "" {
			return checkToken(token, TokenVariable)
		}
		if file = os.Getenv(TokenFileVariable); file == "" {
			return "", false, nil
		}
	}
	f, err := os.Open(file)
	if err != nil {
		return "", false, fmt.Errorf("the token of the job: %w; make one by umask 077; head -c 24 "+
			"/dev/urandom | base64 > token, and copy it to all hosts", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTokenBytes+1))
	if err != nil {
		return "", false, fmt.Errorf("the token of the job: %w", err)
	}
	return checkToken(strings.TrimSpace(string(text)), file)
}

// TokenWarning is a warning if other users may read the file that [FindToken] takes the token from,
// otherwise "".
func TokenWarning(file string) string {
	if file == "" && os.Getenv(TokenVariable) == "" {
		file = os.Getenv(TokenFileVariable)
	}
	info, err := os.Stat(file)
	if file == "" || err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return fmt.Sprintf("others may use the file %s with the token of the job (its mode is %04o), "+
		"and a process that knows the token can join: chmod 600 %s", file, info.Mode().Perm(), file)
}

// checkToken returns a token if its length is allowed.
func checkToken(token, from string) (string, bool, error) {
	if n := len(token); n < minTokenBytes || n > maxTokenBytes {
		return "", false, fmt.Errorf("the token of the job: %s has %d bytes; it should have a "+
			"random text of %d to %d, such as the output of: head -c 24 /dev/urandom | base64",
			from, n, minTokenBytes, maxTokenBytes)
	}
	return token, true, nil
}

// NewToken returns a random token.
func NewToken() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Job is a key of the job: the same on all hosts, and without the secret.
func (r Rendezvous) Job() string {
	sum := sha256.Sum256([]byte("job\n" + r.Address + "\n" + r.Token))
	return "rendezvous-" + hex.EncodeToString(sum[:12])
}
