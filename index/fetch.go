package index

import (
	"github.com/farhash/farhash/rma"
)

// fetch is a get of the heap: a record, or several that lie behind each other, as those of
// one key mostly do.
type fetch struct {
	buf  rma.Buf
	own  bool  // the buffer is the operation's, and not of the pool
	from int   // word of the heap at which the buffer begins
	have int   // words of the buffer that have been asked for
	want int   // words that the last record ends after, when that is known; 0: not yet
	refs []int // where records begin, in rising order
}

const (
	// fetchWords is the least room of a buffer for records.
	fetchWords = 128
	// maxPoolBytes and maxPoolBuffers limit the buffers beyond one for each lookup.
	maxPoolBytes   = 4 << 20
	maxPoolBuffers = 512
	// minRun is how many records behind each other come with one get. A second one alone is
	// mostly of another key, whose signature agrees by chance, and is counted as LP does.
	minRun = 3
	// maxRefs is how many records may wait to be asked for before a search goes on.
	maxRefs = 64
)

// fetchRoom is the words of a buffer: for a few records, if they are not long.
func (t *table) fetchRoom() int { return max(2*t.form.maxWords(), fetchWords) }

// bufferPool has the buffers that lookups of a session take when they find more records than one
// buffer has room for. They are made when they are needed.
type bufferPool struct {
	q     rma.Queue
	words int
	free  []rma.Buf
	more  int // that may still be made
}

func (t *table) newBufferPool() bufferPool {
	if t.inline() {
		return bufferPool{}
	}
	words := t.fetchRoom()
	return bufferPool{words: words, more: min(maxPoolBuffers, maxPoolBytes/(words*8))}
}

// take returns a buffer, nil if all are in use.
func (p *bufferPool) take() (rma.Buf, error) {
	if n := len(p.free); n > 0 {
		buf := p.free[n-1]
		p.free = p.free[:n-1]
		return buf, nil
	}
	if p.more == 0 {
		return nil, nil
	}
	p.more--
	return p.q.Alloc(p.words)
}

// drop gives back what fetches hold, from one on.
func (o *op) drop(from int) {
	for i := from; i < len(o.fetches); i++ {
		if f := &o.fetches[i]; f.own {
			o.idle = true
		} else {
			o.pool.free = append(o.pool.free, f.buf)
		}
	}
	o.fetches = o.fetches[:from]
}

// examineRecords examines the records that have come. A fetch stays if a part of its last record
// has yet to come.
func (o *op) examineRecords() {
	for i := 0; i < len(o.fetches); {
		f := &o.fetches[i]
		f.want = 0
		for _, ref := range f.refs {
			at := ref - f.from
			if end := at + o.t.form.wordsAt(f.buf[at]); end > f.have {
				f.refs[0], f.refs, f.want = ref, f.refs[:1], end
				break
			} else if !o.enough {
				o.record(&o.wanted, f.buf[at:end])
			}
		}
		if f.want > 0 {
			i++
			continue
		}
		last := len(o.fetches) - 1
		o.fetches[i], o.fetches[last] = o.fetches[last], o.fetches[i]
		o.drop(last)
	}
}

// askRecords posts gets of the records whose signatures fit, of all at once as far as
// there are buffers, and of the rest of long ones.
func (o *op) askRecords(q rma.Queue) {
	for i := range o.fetches {
		f := &o.fetches[i]
		o.get(q, f.buf[f.have:f.want], f.from+f.have)
		f.have = f.want
	}
	taken := 0
	for taken < len(o.refs) && o.err == nil {
		buf, own := o.buf, o.idle
		if !own {
			if buf, o.err = o.pool.take(); buf == nil {
				break
			}
		}
		o.idle = false
		taken += o.askRun(q, buf, own, o.refs[taken:])
	}
	o.refs = o.refs[:copy(o.refs, o.refs[taken:])]
}

// askRun posts a get of the first of some records and those that lie behind it, and returns
// how many these are.
func (o *op) askRun(q rma.Queue, buf rma.Buf, own bool, refs []ref) int {
	t, n := o.t, 1
	from := refs[0].word
	for end := from + t.heapFirst; n < len(refs); n++ {
		next := refs[n].word
		behind := next > refs[n-1].word && (refs[n].adjoins || next <= end)
		if !behind || next-from+t.form.maxWords() > len(buf) {
			break
		}
		end = next + t.heapFirst
	}
	if n < minRun {
		n = 1
	}
	end := min(refs[n-1].word+t.heapFirst, t.heapWords)
	if n < len(refs) && refs[n].adjoins {
		end = refs[n].word // where the last of these ends
	}
	if len(o.fetches) < cap(o.fetches) {
		o.fetches = o.fetches[:len(o.fetches)+1] // with the room for refs that it had
	} else {
		o.fetches = append(o.fetches, fetch{})
	}
	f := &o.fetches[len(o.fetches)-1]
	*f = fetch{buf: buf, own: own, from: from, have: end - from, refs: f.refs[:0]}
	for _, ref := range refs[:n] {
		f.refs = append(f.refs, ref.word)
	}
	o.get(q, buf[:f.have], from)
	return n
}

func (o *op) get(q rma.Queue, buf rma.Buf, ref int) {
	o.flights = append(o.flights, q.Get(buf, o.t.window, o.rank, o.t.heapAt+ref))
	o.counts.HeapRequests++
	o.counts.HeapBytes += uint64(len(buf)) * 8
}
