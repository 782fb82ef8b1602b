package explore

import (
	"context"
	"math/bits"
	"slices"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// changes are lists by which the ranks tell each other, after each sweep, the states whose words
// they have changed. A change is the number of a state. If some rank cannot address all words, the
// words follow the number, and each rank has copies of the words of its states and of the states
// that its arcs lead to. It works on the copies, and the window of words has what was published.
type changes struct {
	window rma.Window // the list of each rank
	stride int        // words of a change
	list   []uint64   // the list of this rank, as it is made
	noted  []uint64   // a bit for each state of the log: it is in the next list

	arcs  *arcs
	work  *worklist // of the next sweep
	known []uint64  // the copies, by places; nil if there are none
	width int       // words of a state

	buf   rma.Buf // the pieces in flight of lists that are not addressable
	piece int     // words of a piece
	sizes []int   // words of each piece that is read
}

// Pieces of lists that are in flight together, and about how many words one has.
const (
	listPieces = 64
	pieceWords = 1 << 10
)

// follow has ranks tell each other from now on what they change, if each knows which of its states
// lead where, and has memory. Collective.
func (s *States) follow(ctx context.Context) error {
	if s.followed {
		return nil
	}
	s.followed = true
	s.arcs.reverse(s.mine, s.first)
	if s.job.Size() == 1 {
		return nil
	}
	c := &changes{stride: 1, arcs: s.arcs, work: &s.work, width: s.width,
		noted: make([]uint64, s.mine.n/64+1)}
	if s.remote {
		c.stride += s.width
	}
	room := uint64(0) // bytes that this rank has for a list
	if s.arcs.before != nil {
		room = s.arcs.room
	}
	if s.remote {
		room -= min(room, 8*uint64(s.arcs.known*(s.width+1)+listPieces*(pieceWords+s.width)))
	}
	states, rooms, err := s.sharePair(ctx, uint64(s.mine.n), room, nil)
	if err != nil {
		return err
	}
	most := slices.Max(states) // changes in a list
	if slices.Min(rooms) < 8*most*uint64(c.stride) {
		return nil
	}
	c.window, err = s.job.NewWindow(ctx, rma.Spec{Name: "explore: changes of words",
		Words: max(1, int(most)*c.stride)})
	if err != nil {
		return err
	}
	if s.remote {
		err = s.copyWords(ctx, c)
	}
	s.changes = c
	_, err = s.share(ctx, 0, err)
	return err
}

// copyWords makes the copies.
func (s *States) copyWords(ctx context.Context, c *changes) (err error) {
	if c.piece = (pieceWords + c.stride - 1) / c.stride * c.stride; s.q != nil {
		if c.buf, err = s.q.Alloc(listPieces * c.piece); err != nil {
			return err
		}
	}
	numbers := make([]uint64, s.arcs.known)
	for number, place := range s.arcs.places {
		if place > 0 {
			numbers[place-1] = uint64(number)
		}
	}
	known := make([]uint64, len(numbers)*s.width)
	err = s.read(ctx, numbers, known)
	c.known = known
	return err
}

// copies reports whether there are copies.
func (c *changes) copies() bool { return c != nil && c.known != nil }

// copied is the copy of the words of a state; nil if there is none.
func (c *changes) copied(number uint64) []uint64 {
	if !c.copies() {
		return nil
	}
	place := c.arcs.placeOf(number)
	if place < 0 {
		return nil
	}
	return c.known[place*c.width:][:c.width]
}

// note notes that the words of a state of the log have changed.
func (c *changes) note(number uint64) {
	if c != nil {
		place := c.arcs.placeOf(number)
		c.noted[place/64] |= 1 << (place % 64)
	}
}

// tell writes the list of this rank. It returns how many changes it has.
func (s *States) tell(ctx context.Context) (n uint64, err error) {
	c := s.changes
	if c == nil {
		return 0, nil
	}
	c.list = c.list[:0]
	for k, word := range c.noted {
		for ; word != 0; word &= word - 1 {
			i := k*64 + bits.TrailingZeros64(word)
			if c.list = append(c.list, s.mine.task(i)); c.copies() {
				c.list = append(c.list, c.known[i*c.width:][:c.width]...)
			}
		}
		c.noted[k] = 0
	}
	n = uint64(len(c.list) / c.stride)
	if segment := c.window.Words(s.job.Rank()); segment != nil {
		copy(segment, c.list)
		return n, nil
	}
	for begin := 0; begin < len(c.list); begin += c.piece {
		k := len(s.flights)
		from := c.buf[k*c.piece:][:min(c.piece, len(c.list)-begin)]
		copy(from, c.list[begin:])
		s.flights = append(s.flights, s.q.Put(from, c.window, s.job.Rank(), begin))
		if k+1 == listPieces {
			if err := s.land(ctx, nil); err != nil {
				return 0, err
			}
		}
	}
	return n, s.land(ctx, nil)
}

// hear reads the lists of the other ranks, which have so many changes.
func (s *States) hear(ctx context.Context, lists []uint64) error {
	c := s.changes
	for rank, n := range lists {
		if rank == s.job.Rank() || n == 0 {
			continue
		}
		words := int(n) * c.stride
		if segment := c.window.Words(rank); segment != nil {
			c.take(segment[:words])
			continue
		}
		for begin := 0; begin < words; begin += c.piece {
			k, size := len(s.flights), min(c.piece, words-begin)
			s.flights = append(s.flights, s.q.Get(c.buf[k*c.piece:][:size], c.window, rank, begin))
			if c.sizes = append(c.sizes, size); k+1 == listPieces {
				if err := s.landLists(ctx); err != nil {
					return err
				}
			}
		}
	}
	return s.landLists(ctx)
}

// landLists waits for pieces of lists.
func (s *States) landLists(ctx context.Context) error {
	c := s.changes
	if c == nil || len(s.flights) == 0 {
		return nil
	}
	err := core.Await(ctx, s.q, s.flights...)
	for k, size := range c.sizes {
		if err == nil {
			c.take(c.buf[k*c.piece:][:size])
		}
	}
	s.flights, c.sizes = s.flights[:0], c.sizes[:0]
	return err
}

// take takes changes of another rank.
func (c *changes) take(list []uint64) {
	for ; len(list) > 0; list = list[c.stride:] {
		place := c.arcs.placeOf(list[0])
		if place < 0 {
			continue // no arc of this rank leads there
		}
		if c.known != nil {
			copy(c.known[place*c.width:][:c.width], list[1:])
		}
		for _, i := range c.arcs.leading(place) {
			c.work.Add(int(i))
		}
	}
}

func (c *changes) close() error {
	if c == nil {
		return nil
	}
	return c.window.Close()
}
