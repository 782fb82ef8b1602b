package sim

import "fmt"

// Report is the result of a run.
type Report struct {
	Seed   uint64
	TimeNs int64  // virtual time at the end
	Trace  uint64 // hash of all events: equal for runs that were the same
	Events uint64
	Turns  uint64 // times that a rank was given the turn

	Gets, Puts, CompareAndSwaps, FetchAdds uint64 // posted

	Messages uint64 // between hosts
	Bytes    uint64 // of these, with headers
	Torn     uint64 // gets and puts done in pieces
	Stalls   uint64 // messages and ranks held up by chance
	Held     uint64 // messages that waited for a link that was cut
	Resent   uint64 // times that a message was lost and sent again
	Lost     uint64 // operations that got no answer or were lost with their rank
	Kills    uint64
}

// Add adds the counts of another run; Seed and Trace are kept.
func (r *Report) Add(s Report) {
	r.TimeNs += s.TimeNs
	r.Events += s.Events
	r.Turns += s.Turns
	r.Gets += s.Gets
	r.Puts += s.Puts
	r.CompareAndSwaps += s.CompareAndSwaps
	r.FetchAdds += s.FetchAdds
	r.Messages += s.Messages
	r.Bytes += s.Bytes
	r.Torn += s.Torn
	r.Stalls += s.Stalls
	r.Held += s.Held
	r.Resent += s.Resent
	r.Lost += s.Lost
	r.Kills += s.Kills
}

// String is a summary in one line.
func (r Report) String() string {
	return fmt.Sprintf("%d ns: %d gets, %d puts, %d compare-and-swaps, %d fetch-and-adds; "+
		"%d events, %d turns, %d messages of %d bytes; %d torn, %d stalls, %d held, %d resent, "+
		"%d lost, %d kills", r.TimeNs, r.Gets, r.Puts, r.CompareAndSwaps, r.FetchAdds,
		r.Events, r.Turns, r.Messages, r.Bytes, r.Torn, r.Stalls, r.Held, r.Resent,
		r.Lost, r.Kills)
}

// describe says what an event is, for the trace.
func (c *cluster) describe(e *event) string {
	switch {
	case e.op != nil && e.kind == apply:
		return fmt.Sprintf("apply words %d to %d: %v of rank %d", e.op.cuts[e.n], e.op.cuts[e.n+1],
			e.op.place, e.op.origin.id)
	case e.op != nil:
		return fmt.Sprintf("%v: %v of rank %d", kindNames[e.kind], e.op.place, e.op.origin.id)
	}
	return fmt.Sprintf("%v rank %d, %d", kindNames[e.kind], e.rank, e.n)
}
