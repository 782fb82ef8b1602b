package main

// A slot: | moved | frozen | removed | how often the item was used (4) | item + 1 (4) |.
const (
	itemMask = 15
	useAt    = 4
	live     = 511 // all but frozen and moved
	removed  = 256
	frozen   = 512
	moved    = 1024
	inFlight = moved | 1 // in a buffer: a word that has not arrived yet
)

// machine is a state while a client makes a step.
type machine[C clients] struct {
	*config
	id int
	state[C]
}

// claim notes that a claim is broken unless it holds; the first one counts.
func (m *machine[C]) claim(name uint8, holds bool) {
	if !holds && m.Broken == 0 {
		m.Broken = name
	}
}

// mark notes that something happens which is claimed never to.
func (m *machine[C]) mark(name int, happens bool) {
	m.claim(firstMark, !(happens && m.reach == name))
}

// itemOf is an item by its number.
func (m *machine[C]) itemOf(number int) *item {
	return &m.Client[number/ownItems].Item[number%ownItems]
}

// item is the item that a word refers to.
func (m *machine[C]) item(word uint16) *item { return m.itemOf(int(word&itemMask) - 1) }

// word refers to an item.
func (m *machine[C]) word(number int) uint16 {
	use := uint16(m.itemOf(number).Use)
	switch m.mutant {
	case mutantNoVersion:
		use = 0
	case mutantRecurs:
		use &= 1
	}
	return uint16(number+1) | use<<useAt
}

// isWhole reports whether the item of a word is written, and has not been used again.
func (m *machine[C]) isWhole(word uint16) bool {
	now := m.word(int(word&itemMask) - 1)
	return !m.item(word).Torn && (now^word)&^(removed|frozen) == 0 || m.mutant == mutantNoSeal
}

// free gives the item of a word that is in no slot any more back to its owner.
func (m *machine[C]) free(word uint16) {
	if word&itemMask != 0 {
		m.item(word).Taken = false
	}
}

// compareAndSwap swaps the word of a slot; what it was is old if that has succeeded.
func (m *machine[C]) compareAndSwap(at int, old, word uint16) (seen uint16) {
	if seen = m.Slot[at]; seen == old || m.mutant == mutantBlind {
		m.Slot[at] = word
		return old
	}
	return seen
}

func pairOf(key, value uint8) uint8 { return key<<3 | value }

// sealOf stands for a hash of the word of a slot and its pair.
func sealOf(word uint16, pair uint8) uint16 { return word&live<<5 | uint16(pair) }

func keyOf(call uint8) uint8 {
	if call < writeB {
		return keyA
	}
	return keyB
}

func removes(call uint8) bool { return call == removeA || call == removeB }

func puts(call uint8) bool { return call != readA && call != move && !removes(call) }

// end checks the memory when all clients have ended: what a reader would find, and no key twice.
func (m *machine[C]) end() bool {
	for i := range len(m.Client) {
		if m.Client[i].Phase != ended {
			return false
		}
	}
	value := uint8(0)
	var count [2]int // in each table
	for at, word := range m.Slot {
		if word&itemMask == 0 || m.item(word).Key != keyA {
			continue
		}
		count[at/slots]++
		if value = 0; word&removed == 0 {
			value = m.item(word).Value
		}
		m.claim(wholeItem, !m.item(word).Torn)
	}
	m.claim(keyOnce, count[0] <= 1 && count[1] <= 1)
	m.claim(linearizable, m.history().finals[m.History]>>value&1 != 0)
	return true
}
