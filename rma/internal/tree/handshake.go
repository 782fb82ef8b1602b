package tree

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

// handshakeTimeout bounds a handshake.
const handshakeTimeout = 5 * time.Second

const (
	magic      = "farhash\x05"
	nonceBytes = 32
	helloBytes = len(magic) + 12 + nonceBytes
	proofBytes = sha256.Size
)

// verdict is the listener's answer to a process that asks for admission.
type verdict uint32

const (
	welcome verdict = iota
	wrongToken
	wrongSize // the number is the size of the job
	taken
	begun
	ending
)

// refusals are the messages of verdicts, for a rank of the job at an address.
var refusals = map[verdict]string{
	taken: "the job at %[1]s has a rank %[2]d already; two processes were given the same number",
	begun: "the job at %[1]s has begun, and rank %[2]d was there; no process takes the place of " +
		"a rank that has died: end the job and start all ranks again",
	ending: "the job at %[1]s is ending, and rank %[2]d cannot join it any more",
}

// handshake is what both sides have sent of themselves.
type handshake struct {
	rank, size, port uint32
	nonces           [2 * nonceBytes]byte // of the member, of the listener
}

// hello is the first message of a member, without the nonce.
func (g *handshake) hello() []byte {
	return appendNumbers([]byte(magic), g.rank, g.size, g.port)
}

func (g *handshake) proof(token, who string) []byte {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(g.hello())
	fmt.Fprint(mac, who, "\n")
	mac.Write(g.nonces[:])
	return mac.Sum(nil)
}

// errRefused wraps errors after which it is useless to try again.
var errRefused = errors.New("refused")

// shakeHands asks a listener to admit this rank, to which others connect at a port, or at none.
func shakeHands(c net.Conn, cfg Config, port int) error {
	_ = c.SetDeadline(time.Now().Add(handshakeTimeout))
	g := handshake{rank: uint32(cfg.Rank), size: uint32(cfg.Size), port: uint32(port)}
	_, _ = rand.Read(g.nonces[:nonceBytes]) // never fails
	if _, err := c.Write(append(g.hello(), g.nonces[:nonceBytes]...)); err != nil {
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
	switch v := verdict(binary.LittleEndian.Uint32(answer[:])); v {
	case welcome:
	case wrongSize:
		return fmt.Errorf("%w: the job at %s has %d ranks, and rank %d was started for one of %d; "+
			"give farhash run the same --nnodes and --nproc on all hosts", errRefused, cfg.Address,
			number, cfg.Rank, cfg.Size)
	case wrongToken:
		return fmt.Errorf("%w: the job at %s has another token; give all ranks of a job the "+
			"same, and jobs at the same time different ports", errRefused, cfg.Address)
	case ending: // the process waits for the next job
		return fmt.Errorf(refusals[v], cfg.Address, cfg.Rank)
	default:
		if why, known := refusals[v]; known {
			return fmt.Errorf("%w: %s", errRefused, fmt.Sprintf(why, cfg.Address, cfg.Rank))
		}
		return fmt.Errorf("%w: %s is answered by no farhash job; is it the address of rank 0, "+
			"and the port free there?", errRefused, cfg.Address)
	}
	if !hmac.Equal(answer[8:], g.proof(cfg.Token, "hub")) {
		return fmt.Errorf("%w: the process that listens at %s does not know the token of this job",
			errRefused, cfg.Address)
	}
	return c.SetDeadline(time.Time{})
}

// admit finds out which rank a process is that has connected. check finds its place.
func admit(c net.Conn, cfg Config, check func(rank int) verdict) (g handshake,
	err error) {
	_ = c.SetDeadline(time.Now().Add(handshakeTimeout))
	var hello [helloBytes]byte
	if _, err := io.ReadFull(c, hello[:]); err != nil {
		return g, err
	}
	if string(hello[:len(magic)]) != magic {
		return g, errors.New("this is no rank")
	}
	n, _, _ := takeNumbers(hello[len(magic):], 3)
	g.rank, g.size, g.port = n[0], n[1], n[2]
	copy(g.nonces[:], hello[helloBytes-nonceBytes:])
	_, _ = rand.Read(g.nonces[nonceBytes:]) // never fails
	if _, err := c.Write(g.nonces[nonceBytes:]); err != nil {
		return g, err
	}
	var proof [proofBytes]byte
	if _, err := io.ReadFull(c, proof[:]); err != nil {
		return g, err
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
	answer := appendNumbers(nil, uint32(v), uint32(cfg.Size))
	if _, err := c.Write(append(answer, mine...)); err != nil {
		return g, err
	}
	switch v {
	case welcome:
		return g, c.SetDeadline(time.Time{})
	case wrongToken:
		return g, fmt.Errorf("%w: it has another token", errRefused)
	case wrongSize:
		return g, fmt.Errorf("%w: it has a rank %d of %d", errRefused, g.rank, g.size)
	}
	return g, errRefused
}
