package ne

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/ne/nessie"
)

// rule is what the server does with the invalid items of dead clients.
type rule int

const (
	kept           rule = iota // nothing
	removed                    // it removes them
	published                  // it makes them valid
	publishedAlone             // the same if the key has no valid item, or else it removes them
	rules
)

func (r rule) String() string {
	return [...]string{"kept", "removed", "published", "alone"}[r]
}

// faultHistory is what all clients of one run have done. One rank runs at a time.
type faultHistory struct {
	*faultCounts
	writes []faultWrite
	keys   map[uint64]*faultKey
}

// faultWrite is a write; ackNs is never while it is open.
type faultWrite struct {
	key           uint64
	callNs, ackNs int64
}

const never = math.MaxInt64

// faultKey is what is known of a key.
type faultKey struct {
	// newestNs is when the last acknowledged write began. A value whose write was acknowledged
	// before then is overwritten.
	newestNs            int64
	written             bool // a write was acknowledged
	deleting, isDeleted bool
}

// faultCounts are of all runs.
type faultCounts struct {
	acknowledged, acknowledgedDeletes, killed uint64

	allReads, missed, old, stuck uint64

	lost, back [rules]uint64
	deads      uint64 // of lost, kept: a dead client's invalid item is in a slot of the key
}

func newFaultHistory(c *faultCounts) *faultHistory {
	return &faultHistory{faultCounts: c, keys: map[uint64]*faultKey{}}
}

// of is what is known of a key.
func (h *faultHistory) of(number uint64) *faultKey {
	k := h.keys[number]
	if k == nil {
		k = &faultKey{newestNs: -1}
		h.keys[number] = k
	}
	return k
}

// calls begins a write, and gives its stamp.
func (h *faultHistory) calls(number uint64, ns int64) (id uint64) {
	h.writes = append(h.writes, faultWrite{number, ns, never})
	return uint64(len(h.writes) - 1)
}

func (h *faultHistory) acknowledge(id uint64, ns int64) {
	w := &h.writes[id]
	w.ackNs = ns
	k := h.of(w.key)
	k.newestNs, k.written = max(k.newestNs, w.callNs), true
	if ns > faultsBeginNs {
		h.acknowledged++
	}
}

func (h *faultHistory) newest(number uint64) int64 { return h.of(number).newestNs }

func (h *faultHistory) deletes(number uint64) { h.of(number).deleting = true }

func (h *faultHistory) deleted(number uint64) {
	h.of(number).isDeleted = true
	h.acknowledgedDeletes++
}

// readOf is how a read has ended without a value.
type readOf int

const (
	readNothing readOf = iota
	readStuck
)

func (h *faultHistory) reads(how readOf) {
	h.allReads++
	if how == readNothing {
		h.missed++
	} else {
		h.stuck++
	}
}

// readsValue takes the value of a write. newestNs was that of the key when the read began.
func (h *faultHistory) readsValue(id uint64, newestNs int64) {
	h.allReads++
	if h.writes[id].ackNs < newestNs {
		h.old++
	}
}

// audit compares what the table has in the end with the history.
func (h *faultHistory) audit(by rule, entries []nessie.Entry, dead []bool) {
	at := map[string][]nessie.Entry{}
	for _, e := range entries {
		at[string(e.Key)] = append(at[string(e.Key)], e)
	}
	key := make([]byte, 8)
	for number, k := range h.keys {
		measure.FillKey(key, number)
		value := remainingValue(by, at[string(key)], dead)
		switch {
		case k.isDeleted && value != nil:
			h.back[by]++
		case !k.deleting && k.written && (value == nil ||
			h.writes[binary.LittleEndian.Uint64(value)].ackNs < k.newestNs):
			h.lost[by]++
			if by == kept && slices.ContainsFunc(at[string(key)], func(e nessie.Entry) bool {
				return !e.Valid && dead[e.Owner]
			}) {
				h.deads++
			}
		}
	}
}

// remainingValue is the value that a read finds in the slots of a key after a rule has dealt with
// the items of dead clients; nil if it finds no item, or an invalid one.
func remainingValue(by rule, slots []nessie.Entry, dead []bool) []byte {
	var valid, left []nessie.Entry
	for _, e := range slots {
		if e.Valid {
			valid = append(valid, e)
		}
	}
	for _, e := range slots {
		cleaned := !e.Valid && dead[e.Owner] && by != kept
		if cleaned && (by == removed || by == publishedAlone && len(valid) > 0) {
			continue
		}
		e.Valid = e.Valid || cleaned
		left = append(left, e)
	}
	var found *nessie.Entry
	for i := range left {
		if found == nil || left[i].Primary {
			found = &left[i]
		}
	}
	if found == nil || !found.Valid {
		return nil
	}
	return found.Value
}

// values are the rates.
func (c *faultCounts) values() (all []record.Value) {
	add := func(n, of uint64, unit string) {
		all = append(all, record.Value{Value: float64(n) / float64(max(of, 1)) * 1e6, Unit: unit})
	}
	for by := range rules {
		add(c.lost[by], c.acknowledged, by.String())
		if c.acknowledgedDeletes > 0 {
			add(c.back[by], c.acknowledgedDeletes, "back-"+by.String())
		}
	}
	add(c.deads, c.acknowledged, "dead")
	add(c.missed, c.allReads, "missed")
	add(c.old, c.allReads, "old")
	add(c.stuck, c.allReads, "stuck")
	for _, of := range []struct {
		n    uint64
		unit string
	}{{c.acknowledged, "writes"}, {c.allReads, "reads"}, {c.acknowledgedDeletes, "deletes"},
		{c.killed, "deaths"}} {
		all = append(all, record.Value{Value: float64(of.n), Unit: of.unit})
	}
	return all
}
