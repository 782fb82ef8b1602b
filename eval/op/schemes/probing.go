package schemes

// probing is a scheme that never moves a word: linear and quadratic probing, double hashing and
// walking-the-line.
type probing struct {
	memory
	rounds int // until every bucket has been read
	// next requests the buckets of a round.
	next func(p *probing, word uint64, round int)

	read  []uint64 // what a round has brought
	spans []span   // where these words are
}

// span is buckets that lie side by side.
type span struct {
	at uint64
	n  int
}

// newLinear makes OP's scheme: each get brings the next chunk.
func newLinear(m memory, chunk int) *probing {
	return &probing{memory: m, rounds: (len(m.words) + chunk - 1) / chunk,
		next: func(p *probing, word uint64, round int) {
			p.request(p.home(word, 0)+uint64(round*chunk), chunk)
		}}
}

// newQuadratic makes a scheme whose steps grow by 1, which visits each of 2^n buckets once. It
// requests a number of buckets together.
func newQuadratic(m memory, together int) *probing {
	return &probing{memory: m, rounds: len(m.words) / together,
		next: func(p *probing, word uint64, round int) {
			home := p.home(word, 0)
			for i := uint64(round * together); i < uint64((round+1)*together); i++ {
				p.request(home+i*(i+1)/2, 1)
			}
		}}
}

// newLines makes a scheme that reads lines at steps of a second hash. This is odd, so that a search
// comes to each of 2^n lines.
func newLines(m memory, line int) *probing {
	lines := len(m.words) / line
	return &probing{memory: m, rounds: lines,
		next: func(p *probing, word uint64, round int) {
			first := p.home(word, 0) / uint64(line)
			at := (first + uint64(round)*(p.hash(word, 1)|1)) % uint64(lines)
			p.request(at*uint64(line), line)
		}}
}

// request requests buckets that lie side by side.
func (p *probing) request(at uint64, n int) {
	p.read = p.around(p.read, at, n)
	p.spans = append(p.spans, span{at, n})
}

// place is the bucket of a word that a round has brought.
func (p *probing) place(i int) uint64 {
	k := 0
	for ; i >= p.spans[k].n; k++ {
		i -= p.spans[k].n
	}
	return (p.spans[k].at + uint64(i)) & p.mask
}

// search finds a word or the first empty bucket of its probes.
func (p *probing) search(word uint64) (at uint64, found, full bool) {
	for round := range p.rounds {
		p.read, p.spans = p.read[:0], p.spans[:0]
		p.next(p, word, round)
		p.wait()
		for i, is := range p.read {
			if is == word || is == empty {
				return p.place(i), is == word, false
			}
		}
	}
	return 0, false, true
}

// Find reports whether a word is there.
func (p *probing) Find(word uint64) (bool, Cost) {
	_, found, _ := p.search(word)
	return found, p.took()
}

// FindOrPut inserts a word unless it is there.
func (p *probing) FindOrPut(word uint64) (Answer, Cost) {
	at, found, full := p.search(word)
	switch {
	case found:
		return Found, p.took()
	case full:
		return Full, p.took()
	}
	p.swap(at, empty, word)
	p.wait()
	return Inserted, p.took()
}

// Check finds words that are there twice, and words that a search does not come to.
func (p *probing) Check() error {
	return checkOnce(p.words, func(at int, word uint64) bool {
		is, found, _ := p.search(word)
		p.took()
		return found && is == uint64(at)
	})
}
