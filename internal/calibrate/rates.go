package calibrate

import (
	"errors"
	"fmt"
	"math"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// The reads that rates are measured of: words, and how many are in flight at each rank. All that
// is in flight fits into the buffer.
var (
	rateLengths = [...]int{1, 8, 64, 512}
	rateFlights = [...]int{1, 4, 16, 64}
)

// rates measures reads of several lengths with more and more in flight.
func (m *meter) rates() ([]Rate, error) {
	var all []Rate
	for _, words := range rateLengths {
		for _, flight := range rateFlights {
			late, err := m.late(fmt.Sprintf("reads of %d bytes, %d in flight",
				words*wordBytes, flight))
			if err != nil {
				return nil, err
			}
			if late {
				continue
			}
			perSecond, err := m.rate(flight, words)
			if err != nil {
				return nil, err
			}
			all = append(all, Rate{Bytes: words * wordBytes, Flight: flight, PerSecond: perSecond})
		}
	}
	return all, nil
}

// shipLengths are the lengths of requests and of their answers, in words. A request has
// one at least.
var shipLengths = [...]int{1, 64, 512, rma.MaxShipWords}

// ShipFlight is how many requests of each rank are in flight for their rate: an engine has no
// more than a few in flight.
const ShipFlight = 8

// shipper is what a rank has to measure requests with.
type shipper struct {
	*meter
	server            rma.Server
	carrier           rma.Carrier
	requests, answers rma.Buf
}

// shipped measures requests to the programs of other ranks, where there are such ranks and
// the engine carries requests. What it returns is of use on rank 0.
func (m *meter) shipped() (r *Shipped, err error) {
	server, serves := m.window.(rma.Server)
	_, carries := m.queue.(rma.Carrier)
	if !serves || !carries || m.job.Size() == 1 {
		return nil, nil
	}
	if late, err := m.late("requests"); late || err != nil {
		return nil, err
	}
	queue, err := m.job.NewQueue(ShipFlight)
	if err != nil {
		return nil, err
	}
	s := shipper{meter: m, server: server, carrier: queue.(rma.Carrier)}
	r, err = s.measure()
	return r, errors.Join(err, queue.Close())
}

func (s *shipper) measure() (r *Shipped, err error) {
	if s.requests, err = s.carrier.Alloc(ShipFlight * rma.MaxShipWords); err != nil {
		return nil, err
	}
	if s.answers, err = s.carrier.Alloc(ShipFlight * rma.MaxShipWords); err != nil {
		return nil, err
	}
	s.server.Serve(func(_ int, request, answer []uint64) int { return copy(answer, request) })
	defer s.server.Serve(nil)
	if err := s.job.Barrier(s.ctx); err != nil {
		return nil, err
	}
	r = new(Shipped)
	if s.job.Rank() == 0 {
		if err := s.line(r); err != nil {
			return nil, err
		}
	}
	for _, words := range shipLengths {
		late, err := s.late(fmt.Sprintf("requests of %d bytes, %d in flight",
			words*wordBytes, ShipFlight))
		if err != nil {
			return nil, err
		}
		if late {
			continue
		}
		perSecond, err := s.throughput(s.carrier, ShipFlight, func(i int) rma.Handle {
			return s.post(i, words)
		})
		if err != nil {
			return nil, err
		}
		r.Rates = append(r.Rates,
			Rate{Bytes: words * wordBytes, Flight: ShipFlight, PerSecond: perSecond})
	}
	return r, s.auto(r) // which begins and ends with all ranks in step
}

// post ships a request.
func (s *shipper) post(i, words int) rma.Handle {
	from := i * rma.MaxShipWords
	return s.carrier.Ship(s.requests[from:from+words], s.answers[from:from+words], s.server,
		s.other())
}

// line measures single requests.
func (s *shipper) line(r *Shipped) error {
	for _, words := range shipLengths {
		var took []float64
		stop := s.share()
		for round := range s.cfg.Rounds + 1 {
			began := s.cfg.NowNs()
			if round > 1 && began >= stop {
				break
			}
			h := s.post(0, words)
			if err := s.carrier.Submit(); err != nil {
				return err
			}
			if err := s.release(s.carrier, h); err != nil {
				return err
			}
			if round > 0 { // the first is a warm-up
				took = append(took, float64(max(s.cfg.NowNs()-began, 1)))
			}
		}
		r.Points = append(r.Points, Point{Bytes: words * wordBytes, Ns: median(took)})
	}
	r.LatencyNs, r.ByteNs = fit(r.Points)
	return nil
}

// auto asks what a table with rma.Auto would do.
func (s *shipper) auto(r *Shipped) error {
	none := func(uint32, int, []uint64, []uint64) (int, error) { return 0, nil }
	var b core.Batches
	err := b.Open(s.ctx, s.job, s.server, core.Config{Messages: 1, Answer: none})
	if err != nil {
		return err
	}
	choice := b.Access()
	r.Auto = choice.String()
	if choice.MinBatch < math.MaxInt {
		r.MinBatch = choice.MinBatch
	}
	return errors.Join(s.job.Barrier(s.ctx), b.Close())
}
