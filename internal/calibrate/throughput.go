package calibrate

import (
	"errors"

	"github.com/farhash/farhash/rma"
)

// portions are what the limit of time is divided into. There are half as many measurements, and
// each takes little more than one portion, by what is in flight at its end.
const portions = 2 * (3 + len(rateLengths)*len(rateFlights) + 2*len(shipLengths))

// share is when a measurement that begins now has to end.
func (m *meter) share() int64 { return m.cfg.NowNs() + int64(m.cfg.Limit)/int64(portions) }

// late reports whether there is no time left for a measurement, and notes that then. Collective:
// all ranks agree.
func (m *meter) late(what string) (bool, error) {
	mine := uint64(0)
	if m.cfg.NowNs()-m.beganNs > int64(m.cfg.Limit)/2 {
		mine = 1
	}
	all, err := m.sum(mine)
	if all > 0 {
		m.missing = append(m.missing, what)
	}
	return all > 0, err
}

// rate is how many reads of so many words all ranks together do in a second, with so many
// in flight at each.
func (m *meter) rate(flight, words int) (float64, error) {
	return m.throughput(m.queue, flight, func(i int) rma.Handle {
		return m.read(m.buffer[i*words : (i+1)*words])
	})
}

const (
	// minRound is how many operations a round has at least: a clock takes as long as some.
	minRound = 16
	// checkedOps are done between two looks at the clock.
	checkedOps = 64
)

// throughput is how many operations all ranks together do in a second, with so many in flight
// at each. post posts the i-th of these, and is called for it again when it is done.
func (m *meter) throughput(q rma.Queue, flight int, post func(i int) rma.Handle) (float64, error) {
	if err := m.job.Barrier(m.ctx); err != nil {
		return 0, err
	}
	parts := min(flight, 4) // a part of what is in flight is replaced while the others continue
	handles := make([]rma.Handle, flight)
	start := func(part int) error {
		for i := part * flight / parts; i < (part+1)*flight/parts; i++ {
			handles[i] = post(i)
		}
		return q.Submit()
	}
	take := func(part int) error {
		for i := part * flight / parts; i < (part+1)*flight/parts; i++ {
			if err := m.release(q, handles[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for part := range parts {
		if err := start(part); err != nil {
			return 0, err
		}
	}
	rounds := m.cfg.Rounds * max(1, minRound/flight)
	checks := max(checkedOps*parts/flight, 1)
	began, stop, ops := m.cfg.NowNs(), m.share(), 0
	for i := range rounds * parts {
		err := take(i % parts)
		if err == nil {
			err = start(i % parts)
		}
		if err != nil {
			return 0, err
		}
		ops += (i%parts+1)*flight/parts - i%parts*flight/parts
		if i%checks == checks-1 && m.cfg.NowNs() >= stop {
			break
		}
	}
	ns := max(m.cfg.NowNs()-began, 1)
	for part := range parts {
		if err := take(part); err != nil {
			return 0, err
		}
	}
	return m.sum(uint64(float64(ops) / float64(ns) * 1e9))
}

// sum adds up a number of each rank.
func (m *meter) sum(mine uint64) (float64, error) {
	if err := m.cells.Store(m.ctx, m.job.Rank(), 0, mine); err != nil {
		return 0, err
	}
	if err := m.job.Barrier(m.ctx); err != nil {
		return 0, err
	}
	all, err := m.cells.Sum(m.ctx, 0)
	return float64(all), errors.Join(err, m.job.Barrier(m.ctx))
}
