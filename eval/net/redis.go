package net

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/redis"
	"github.com/farhash/farhash/eval/net/rawucx"
)

// redisSet is the key of the set that each server has.
const redisSet = "s"

// redisParticipant has a connection to the server of each target. The word decides which, as the
// hash of a set does.
type redisParticipant struct {
	r     *run
	words *batches
	conns []*redis.Conn // by rank, nil where that is no target
	asked []int         // answers that each owes
}

// missing says what cannot be measured here, and why. Collective.
func (r *runner) missing(ctx context.Context, job rma.Job) (map[impl]string, error) {
	why := map[impl]string{}
	if !rawucx.Built {
		why[raw] = "this program was built without UCX"
	}
	ships, err := canShip(ctx, job)
	if err != nil {
		return nil, err
	}
	if !ships {
		why[shipped] = "the engine carries no batches"
	}
	lacking := uint64(0)
	if _, err := exec.LookPath(redis.Program); err != nil {
		lacking = 1
	}
	all, err := measure.Gather(ctx, job, lacking)
	switch {
	case err != nil:
		return nil, err
	case measure.Sum(all) > 0:
		why[aServer] = fmt.Sprintf("there is no program %s on all hosts; install it",
			redis.Program)
	case r.address == "":
		why[aServer] = "nothing says by which address this host is reached"
	}
	return why, nil
}

// openRedis connects to the servers, which are started when they are first needed.
// Collective.
func (r *run) openRedis(ctx context.Context) (participant, error) {
	if err := r.startServers(ctx, r.job); err != nil {
		return nil, err
	}
	p := &redisParticipant{r: r, words: newBatches(r), conns: make([]*redis.Conn, r.job.Size()),
		asked: make([]int, r.job.Size())}
	if !r.client() {
		return p, nil
	}
	for _, target := range r.targets {
		c, err := r.dial(ctx, target)
		if err != nil {
			return nil, errors.Join(err, p.closeAll())
		}
		p.conns[target] = c
	}
	return p, nil
}

// startServers has every rank start a server, once. Collective.
func (r *runner) startServers(ctx context.Context, job rma.Job) error {
	if r.servers != nil {
		return nil
	}
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	all, err := measure.GatherTexts(ctx, job, secret[:])
	if err != nil {
		return err
	}
	r.secret = hex.EncodeToString(all[0])
	address := ""
	host, started := measure.OwnAddress(r.address)
	if started == nil {
		r.server, started = redis.StartAt(ctx, host, r.secret)
	}
	if started == nil {
		address = r.server.Address
	}
	all, err = measure.GatherTexts(ctx, job, []byte(address))
	if err = errors.Join(started, err); err != nil {
		return err
	}
	servers := make([]string, len(all))
	for rank, text := range all {
		if servers[rank] = string(text); servers[rank] == "" {
			return &rma.PeerError{What: "eval: starting " + redis.Program, Rank: rank}
		}
	}
	r.servers = servers
	return nil
}

// dial connects to the server of a rank.
func (r *runner) dial(ctx context.Context, rank int) (*redis.Conn, error) {
	c, err := redis.Dial(ctx, r.servers[rank])
	if err != nil {
		return nil, err
	}
	if err := c.Login(r.secret); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (p *redisParticipant) warm(n int) error {
	fresh, err := p.batch(p.words.warm(n))
	if err == nil && fresh != n {
		err = fmt.Errorf("%d words are new to an empty set, and %d were inserted", n, fresh)
	}
	return err
}

func (p *redisParticipant) ready(n int) { p.words.ready(n) }

func (p *redisParticipant) run(ctx context.Context, s *sample) error {
	if p.r.of.batch > 1 {
		return p.words.run(ctx, s, p.batch)
	}
	for i := range p.words.all {
		begin := time.Now()
		fresh, err := p.batch(p.words.all[i : i+1])
		if err == nil && fresh > 0 {
			err = fmt.Errorf("word %#x is new, and was there before", p.words.all[i])
		}
		if err != nil {
			return err
		}
		measure.Add(s.took, time.Since(begin), 1)
	}
	return nil
}

// batch sends each server its words in one piece, a pipeline, and takes the answers.
func (p *redisParticipant) batch(words []uint64) (fresh int, err error) {
	for rank, c := range p.conns {
		if p.asked[rank] = 0; c != nil {
			c.Begin()
		}
	}
	for _, word := range words {
		var member [8]byte
		binary.LittleEndian.PutUint64(member[:], word)
		rank := ownerOf(word, len(p.conns))
		p.conns[rank].Add("SADD", []byte(redisSet), member[:])
		p.asked[rank]++
	}
	for rank, c := range p.conns {
		if p.asked[rank] > 0 {
			if err := c.Send(); err != nil {
				return 0, err
			}
		}
	}
	for rank, c := range p.conns {
		for range p.asked[rank] {
			answer, err := c.Answer()
			if err != nil {
				return 0, err
			}
			if string(answer) == "1" {
				fresh++
			}
		}
	}
	return fresh, nil
}

// closeAll ends all connections.
func (p *redisParticipant) closeAll() (err error) {
	for _, c := range p.conns {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// close has every server forget its words.
func (p *redisParticipant) close(ctx context.Context) error {
	err := errors.Join(p.closeAll(), p.r.job.Barrier(ctx))
	if err != nil {
		return err
	}
	c, err := p.r.dial(ctx, p.r.job.Rank())
	if err != nil {
		return err
	}
	_, err = c.Ask("FLUSHALL")
	return errors.Join(err, c.Close(), p.r.job.Barrier(ctx))
}

// stopServer stops the server that this rank has started.
func (r *runner) stopServer() error {
	if r.server == nil {
		return nil
	}
	server := r.server
	r.server, r.servers = nil, nil
	return server.Stop()
}
