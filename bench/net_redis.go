package bench

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"time"

	"github.com/farhash/farhash/bench/internal/rawucx"
	"github.com/farhash/farhash/rma"
)

// netRedisSet is the key of the set that each server has.
const netRedisSet = "s"

// redisParty has a connection to the server of each target. The word decides which, as the hash
// of a set does.
type redisParty struct {
	r     *netRun
	words *netBatches
	conns []*redisConn // by rank, nil where that is no target
	asked []int        // answers that each owes
}

// missing says what cannot be measured here, and why. Collective.
func (b *NetBench) missing(ctx context.Context, job rma.Job) (map[NetImpl]string, error) {
	why := map[NetImpl]string{}
	if !rawucx.Built {
		why[NetRaw] = "this program was built without UCX"
	}
	ships, err := canShip(ctx, job)
	if err != nil {
		return nil, err
	}
	if !ships {
		why[NetShipped] = "the engine carries no batches"
	}
	lacking := uint64(0)
	if _, err := exec.LookPath(redisProgram); err != nil {
		lacking = 1
	}
	all, err := gather(ctx, job, lacking)
	switch {
	case err != nil:
		return nil, err
	case sum(all) > 0:
		why[NetRedis] = fmt.Sprintf("there is no program %s on all hosts; install it",
			redisProgram)
	case b.cfg.Address == "":
		why[NetRedis] = "nothing says by which address this host is reached"
	}
	return why, nil
}

// openRedis connects to the servers, which are started when they are first needed.
// Collective.
func (r *netRun) openRedis(ctx context.Context) (netParty, error) {
	if err := r.bench.startServers(ctx, r.job); err != nil {
		return nil, err
	}
	p := &redisParty{r: r, words: newNetBatches(r), conns: make([]*redisConn, r.job.Size()),
		asked: make([]int, r.job.Size())}
	if !r.client() {
		return p, nil
	}
	for _, target := range r.targets {
		c, err := r.bench.dial(ctx, target)
		if err != nil {
			return nil, errors.Join(err, p.hangUp())
		}
		p.conns[target] = c
	}
	return p, nil
}

// startServers has every rank start a server, once. Collective.
func (b *NetBench) startServers(ctx context.Context, job rma.Job) error {
	if b.servers != nil {
		return nil
	}
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	all, err := gatherTexts(ctx, job, secret[:])
	if err != nil {
		return err
	}
	b.secret = hex.EncodeToString(all[0])
	address := ""
	host, started := ownAddress(b.cfg.Address)
	if started == nil {
		b.server, started = startRedisAt(ctx, host, b.secret)
	}
	if started == nil {
		address = b.server.address
	}
	all, err = gatherTexts(ctx, job, []byte(address))
	if err = errors.Join(started, err); err != nil {
		return err
	}
	servers := make([]string, len(all))
	for rank, text := range all {
		if servers[rank] = string(text); servers[rank] == "" {
			return &rma.PeerError{What: "bench: starting " + redisProgram, Rank: rank}
		}
	}
	b.servers = servers
	return b.sawServer(ctx, job)
}

// sawServer keeps which Redis it is, on rank 0.
func (b *NetBench) sawServer(ctx context.Context, job rma.Job) error {
	if job.Rank() != 0 {
		return nil
	}
	c, err := b.dial(ctx, 0)
	if err != nil {
		return err
	}
	version, err := c.info("server", "redis_version")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.redis = version
	return errors.Join(err, c.close())
}

// dial connects to the server of a rank.
func (b *NetBench) dial(ctx context.Context, rank int) (*redisConn, error) {
	c, err := dialRedis(ctx, b.servers[rank])
	if err != nil {
		return nil, err
	}
	if err := c.login(b.secret); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// ownAddress is by which address this host is reached by one that knows another's.
func ownAddress(other string) (string, error) {
	conn, err := net.Dial("udp", other) // nothing is sent
	if err != nil {
		return "", fmt.Errorf("finding the address of this host: %w", err)
	}
	defer conn.Close()
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	return host, err
}

func (p *redisParty) warm(n int) error {
	fresh, err := p.batch(p.words.warm(n))
	if err == nil && fresh != n {
		err = fmt.Errorf("%d words are new to an empty set, and %d were inserted", n, fresh)
	}
	return err
}

func (p *redisParty) ready(n int) { p.words.ready(n) }

func (p *redisParty) run(ctx context.Context, s *NetSample) error {
	if p.r.of.Batch > 1 {
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
		record(s.took, time.Since(begin))
	}
	return nil
}

// batch sends each server its words in one piece, a pipeline, and takes the answers.
func (p *redisParty) batch(words []uint64) (fresh int, err error) {
	for rank, c := range p.conns {
		if p.asked[rank] = 0; c != nil {
			c.out = c.out[:0]
		}
	}
	for _, word := range words {
		var member [8]byte
		binary.LittleEndian.PutUint64(member[:], word)
		rank := ownerOf(word, len(p.conns))
		c := p.conns[rank]
		c.out = appendCommand(c.out, "SADD", []byte(netRedisSet), member[:])
		p.asked[rank]++
	}
	for rank, c := range p.conns {
		if p.asked[rank] > 0 {
			if err := c.send(); err != nil {
				return 0, err
			}
		}
	}
	for rank, c := range p.conns {
		for range p.asked[rank] {
			if c.text, _, err = c.answer(c.text[:0]); err != nil {
				return 0, c.failed(err)
			}
			if string(c.text) == "1" {
				fresh++
			}
		}
	}
	return fresh, nil
}

// hangUp ends all connections.
func (p *redisParty) hangUp() (err error) {
	for _, c := range p.conns {
		if c != nil {
			err = errors.Join(err, c.close())
		}
	}
	return err
}

// close has every server forget its words.
func (p *redisParty) close(ctx context.Context) error {
	err := errors.Join(p.hangUp(), p.r.job.Barrier(ctx))
	if err != nil {
		return err
	}
	c, err := p.r.bench.dial(ctx, p.r.job.Rank())
	if err != nil {
		return err
	}
	_, err = c.ask("FLUSHALL")
	return errors.Join(err, c.close(), p.r.job.Barrier(ctx))
}

// Close stops the server that this rank has started.
func (b *NetBench) Close() error {
	if b.server == nil {
		return nil
	}
	server := b.server
	b.server = nil
	return server.stop()
}
