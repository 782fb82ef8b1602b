package explore

import "time"

// WithProgressEvery is o with another time than a second between calls of Progress.
func (o Options) WithProgressEvery(interval time.Duration) Options {
	o.progressEvery = interval
	return o
}

// SearchCount is how many searches from a single state the answer took.
func (l *Liveness) SearchCount() int { return l.searches }

// RoomForArcs limits the bytes that this rank takes for arcs.
func (s *States) RoomForArcs(bytes uint64) { s.arcs.room = min(s.arcs.room, bytes) }
