package main

// histories are all linearizable histories of the calls of A that the clients may make, told apart
// as far as it matters for what follows. They are numbered, so that a state has a number in place
// of all that may have happened. The numbers are the same on all ranks.
type histories struct {
	known  map[history]uint32
	list   []history
	after  []outcomes
	writes []uint8 // the last value that was put
	finals []uint8 // mask of the values that a last read may find
}

// firstHistory is the number of the empty history; 0 is none.
const firstHistory = 1

// history is the key's states that are possible after all answers so far, and the open calls. A
// client that dies never gets an answer: its call may take effect at any later time, or never.
type history struct {
	possible keyStates
	open     [maxClients]openCall
	writes   uint8 // the last value that was put
}

// openCall is a call without an answer.
type openCall struct {
	call uint8 // 1 + the call, 0 for none
	put  uint8 // its value
}

// keyStates is a set of states of the key, as a mask. A state is the value and for each client 0,
// or 1 + the answer of its open call if it has taken effect: value + 5*(first + 6*(second + ...)).
type keyStates [(values*codes*codes*codes + 63) / 64]uint64

const codes = 1 + values

func (k *keyStates) has(s int) bool { return k[s/64]>>(s%64)&1 != 0 }
func (k *keyStates) add(s int)      { k[s/64] |= 1 << (s % 64) }

// all are the states of the set.
func (k *keyStates) all(yield func(s int) bool) {
	for i, word := range k {
		for b := 0; word != 0; b, word = b+1, word>>1 {
			if word&1 != 0 && !yield(64*i+b) {
				return
			}
		}
	}
}

// outcomes are the histories after a call or an answer of each client, 0 where there is none.
type outcomes [maxClients]struct {
	call   [writeB]uint32
	answer [values]uint32
}

// newHistories finds all histories with so many calls of each client.
func newHistories(c *config) *histories {
	h := &histories{known: map[history]uint32{}, list: make([]history, 1),
		after: make([]outcomes, 1), writes: make([]uint8, 1), finals: make([]uint8, 1)}
	type point struct {
		number uint32
		made   [maxClients]uint8 // calls
	}
	first := history{writes: 1}
	first.possible.add(c.start & hasA)
	begin := point{number: h.number(first)}
	seen := map[point]bool{begin: true}
	for work := []point{begin}; len(work) > 0; {
		p := work[len(work)-1]
		work = work[:len(work)-1]
		reach := func(n point) {
			if !seen[n] {
				seen[n] = true
				work = append(work, n)
			}
		}
		for i := range maxClients {
			for call := range writeB {
				was := h.list[p.number]
				if int(p.made[i]) == c.ops[i] || c.menu[i]>>call&1 == 0 || !was.begin(i, call) {
					continue
				}
				n := point{h.number(was), p.made}
				n.made[i]++
				h.after[p.number][i].call[call] = n.number
				reach(n)
			}
			for reply := range values {
				was := h.list[p.number]
				if !was.end(i, reply) {
					continue
				}
				n := point{h.number(was), p.made}
				h.after[p.number][i].answer[reply] = n.number
				reach(n)
			}
		}
	}
	h.known, h.list = nil, nil
	return h
}

// number is the number of a history.
func (h *histories) number(of history) uint32 {
	n, ok := h.known[of]
	if !ok {
		n = uint32(len(h.list))
		h.known[of] = n
		h.list = append(h.list, of)
		h.after = append(h.after, outcomes{})
		h.writes = append(h.writes, of.writes)
		of.takeEffect()
		mask := uint8(0)
		for s := range of.possible.all {
			mask |= 1 << (s % values)
		}
		h.finals = append(h.finals, mask)
	}
	return n
}

// begin notes a call, if the client has none and values are left.
func (h *history) begin(client, call int) bool {
	puts := call == writeA || call == ifNoneA || call == ifSameA
	if h.open[client].call != 0 || puts && h.writes == values-1 {
		return false
	}
	h.open[client].call = uint8(1 + call)
	if puts {
		h.writes++
		h.open[client].put = h.writes
	}
	return true
}

// end notes an answer, if it is possible.
func (h *history) end(client, reply int) bool {
	if h.open[client].call == 0 {
		return false
	}
	h.takeEffect()
	weight := values
	for range client {
		weight *= codes
	}
	var rest keyStates
	for s := range h.possible.all {
		if s/weight%codes == 1+reply {
			rest.add(s - (1+reply)*weight)
		}
	}
	h.possible, h.open[client] = rest, openCall{}
	return rest != keyStates{}
}

// takeEffect adds the states in which open calls have taken effect, in any order.
func (h *history) takeEffect() {
	var work []int
	for s := range h.possible.all {
		work = append(work, s)
	}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		weight := values
		for _, open := range h.open {
			if open.call != 0 && s/weight%codes == 0 {
				is, reply := open.effect(s % values)
				t := s - s%values + is + (1+reply)*weight
				if !h.possible.has(t) {
					h.possible.add(t)
					work = append(work, t)
				}
			}
			weight *= codes
		}
	}
}

// effect is the value after a call, and its answer.
func (o openCall) effect(was int) (is, reply int) {
	there := 0
	if was != 0 {
		there = 1
	}
	put := int(o.put)
	switch o.call - 1 {
	case writeA:
		return put, 0
	case removeA:
		return 0, there
	case ifNoneA:
		if there == 0 {
			return put, 0
		}
		return was, 1
	case ifSameA:
		if was == 1 {
			return put, 1
		}
		return was, 0
	}
	return was, was // readA
}
