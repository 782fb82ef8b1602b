package cache

// near splits a batch where only some memory is addressable: that of ranks of this host.
type near struct {
	near, far order
	piece     piece
	call      call // the operations of the batch as bytes
	batch     batch
}

// run carries out a batch, over memory where that is addressable, else through a queue.
func (b *batch) run() error {
	t := b.t
	switch {
	case b.order == nil && t.allAddressable():
		b.direct(b.pipe)
		return nil
	case !t.any:
		return t.queued(b)
	}
	p := b.near
	p.sort(b)
	if len(p.near) == b.n && b.order == nil {
		b.direct(b.pipe)
		return nil
	}
	p.direct(b)
	if len(p.far) == 0 {
		return nil
	}
	n, all := b.n, b.order
	b.n, b.order = len(p.far), p.far
	err := t.queued(b)
	b.n, b.order = n, all
	return err
}

// sort finds out which operations of a batch are on memory that is addressable.
func (p *near) sort(b *batch) {
	p.near, p.far = p.near[:0], p.far[:0]
	for i := range b.n {
		at := b.order.at(i)
		if b.t.addressable(hashKey(b.key(at))) {
			p.near = append(p.near, at)
		} else {
			p.far = append(p.far, at)
		}
	}
}

// direct carries out the operations of a batch that are near. The stages want them one
// behind the other, so they are copied.
func (p *near) direct(b *batch) {
	keyBytes, valueBytes := b.t.keyWords*8, b.t.valueWords*8
	p.call = call{kind: b.kind, keys: items{bytesOf(b.keys), keyBytes, keyBytes},
		values: items{bytesOf(b.values), valueBytes, valueBytes}, found: b.found,
		results: b.results}
	next := &p.batch
	*next = batch{t: b.t, kind: b.kind}
	_ = p.piece.each(next, &p.call, p.near, func() error {
		next.direct(b.pipe)
		return nil
	})
	b.counts.Add(next.counts)
	p.call, *next = call{}, batch{}
}
