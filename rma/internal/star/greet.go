package star

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// greetLimit is how long a stranger may take to say who it is.
const greetLimit = 5 * time.Second

const (
	magic      = "farhash\x01"
	nonceBytes = 32
	helloBytes = len(magic) + 8 + nonceBytes
	proofBytes = sha256.Size
)

// verdict is the hub's answer to a rank that wants to be let in.
type verdict uint32

const (
	welcome verdict = iota
	wrongToken
	wrongSize // the number is the size of the job
	taken
)

// greeting is what both sides have said of themselves.
type greeting struct {
	rank, size uint32
	nonces     [2 * nonceBytes]byte // of the member, of the hub
}

func (g *greeting) proof(token, who string) []byte {
	mac := hmac.New(sha256.New, []byte(token))
	fmt.Fprint(mac, magic, who, "\n", g.rank, " ", g.size, "\n")
	mac.Write(g.nonces[:])
	return mac.Sum(nil)
}

// errRefused wraps what makes it useless to try again.
var errRefused = errors.New("refused")

// introduce says to the hub who this rank is.
func introduce(c net.Conn, cfg Config) error {
	_ = c.SetDeadline(time.Now().Add(greetLimit))
	g := greeting{rank: uint32(cfg.Rank), size: uint32(cfg.Size)}
	_, _ = rand.Read(g.nonces[:nonceBytes]) // never fails
	hello := binary.LittleEndian.AppendUint32([]byte(magic), g.rank)
	hello = binary.LittleEndian.AppendUint32(hello, g.size)
	if _, err := c.Write(append(hello, g.nonces[:nonceBytes]...)); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, g.nonces[nonceBytes:]); err != nil {
		return err
	}
	if _, err := c.Write(g.proof(cfg.Token, "member")); err != nil {
		return err
	}
	var answer [8 + proofBytes]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		return err
	}
	number := binary.LittleEndian.Uint32(answer[4:])
	switch verdict(binary.LittleEndian.Uint32(answer[:])) {
	case welcome:
	case wrongSize:
		return fmt.Errorf("%w: the job at %s has %d ranks, and for rank %d it has %d",
			errRefused, cfg.Address, number, cfg.Rank, cfg.Size)
	case taken:
		return fmt.Errorf("%w: the job at %s has a rank %d already; two processes were given "+
			"the same number", errRefused, cfg.Address, cfg.Rank)
	default:
		return fmt.Errorf("%w: the job at %s has another token; give all ranks of a job the "+
			"same, and jobs at the same time different ports", errRefused, cfg.Address)
	}
	if !hmac.Equal(answer[8:], g.proof(cfg.Token, "hub")) {
		return fmt.Errorf("%w: who listens at %s does not know the token of this job",
			errRefused, cfg.Address)
	}
	return c.SetDeadline(time.Time{})
}

// hear finds out which rank a stranger is. check looks for a place for it.
func hear(c net.Conn, cfg Config, check func(rank int) verdict) (rank int, err error) {
	_ = c.SetDeadline(time.Now().Add(greetLimit))
	var hello [helloBytes]byte
	if _, err := io.ReadFull(c, hello[:]); err != nil {
		return 0, err
	}
	if string(hello[:len(magic)]) != magic {
		return 0, errors.New("this is no rank")
	}
	g := greeting{rank: binary.LittleEndian.Uint32(hello[len(magic):]),
		size: binary.LittleEndian.Uint32(hello[len(magic)+4:])}
	copy(g.nonces[:], hello[helloBytes-nonceBytes:])
	_, _ = rand.Read(g.nonces[nonceBytes:]) // never fails
	if _, err := c.Write(g.nonces[nonceBytes:]); err != nil {
		return 0, err
	}
	var proof [proofBytes]byte
	if _, err := io.ReadFull(c, proof[:]); err != nil {
		return 0, err
	}
	v, mine := wrongToken, make([]byte, proofBytes)
	if hmac.Equal(proof[:], g.proof(cfg.Token, "member")) {
		mine = g.proof(cfg.Token, "hub")
		switch {
		case int(g.size) != cfg.Size || int(g.rank) >= cfg.Size:
			v = wrongSize
		default:
			v = check(int(g.rank))
		}
	}
	answer := binary.LittleEndian.AppendUint32(nil, uint32(v))
	answer = binary.LittleEndian.AppendUint32(answer, uint32(cfg.Size))
	if _, err := c.Write(append(answer, mine...)); err != nil {
		return int(g.rank), err
	}
	if v != welcome {
		return 0, errRefused
	}
	return int(g.rank), c.SetDeadline(time.Time{})
}
