package explore

import (
	"slices"
	"testing"
)

func TestFrontier(t *testing.T) {
	p := pool{taskWords: 1}
	f := frontier{pool: &p}
	if f.pop() != nil {
		t.Fatal("an empty frontier has a block")
	}
	const n = 5*blockTasks + 7
	for i := range uint64(n) {
		f.push([]uint64{i})
		if want := int(i)/blockTasks + 1; len(f.blocks) != want || p.made != uint64(want) {
			t.Fatalf("%d tasks in %d blocks, %d made", i+1, len(f.blocks), p.made)
		}
	}
	next := uint64(0)
	for range 6 {
		b := f.pop()
		for _, task := range b {
			if task != next {
				t.Fatalf("task %d came when %d was next", task, next)
			}
			next++
		}
		p.put(b)
	}
	if next != n || f.pop() != nil {
		t.Errorf("%d of %d tasks came back", next, n)
	}
	for i := range uint64(n) {
		f.push([]uint64{i})
	}
	if p.made != 6 || p.bytes() != 6*blockBytes(1) {
		t.Errorf("blocks were not used again: %d made, %d bytes", p.made, p.bytes())
	}
}

func TestLevelLog(t *testing.T) {
	l := newLevelLog()
	next := uint64(0)
	add := func(n int) {
		for range n {
			l.add(next)
			next++
		}
	}
	sizes := []int{1, 3*logChunk + 5, 0, 0, 0, logChunk - 6, 2}
	for level, n := range sizes {
		if level != 3 && level != 4 { // levels that this rank does not see
			l.level(uint64(level))
		}
		add(n)
	}
	first := uint64(0)
	for level, n := range sizes {
		var want, got []uint64
		for i := range uint64(n) {
			want = append(want, first+i)
		}
		first += uint64(n)
		for tasks := range l.blocks(uint64(level)) {
			if len(tasks) > blockTasks {
				t.Fatalf("level %d: %d tasks at once", level, len(tasks))
			}
			got = append(got, tasks...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("level %d: %d tasks, want %d, or others", level, len(got), n)
		}
	}
	seen := 0
	for range l.blocks(1) {
		if seen++; seen == 3 {
			break
		}
	}
	for range l.blocks(uint64(len(sizes))) {
		t.Error("a level that is none")
	}
	if want := uint64(5*logChunk*8 + 7*8); seen != 3 || l.bytes() != want {
		t.Errorf("%d blocks seen before the end, %d bytes, want %d", seen, l.bytes(), want)
	}
	var none *levelLog
	none.add(1)
	none.level(3)
	if none.bytes() != 0 {
		t.Error("no log takes memory")
	}
}

// A batch that is shipped has states for each rank, within limits of states and of bytes.
func TestBuffersGrow(t *testing.T) {
	for _, c := range []struct{ ranks, words, full int }{
		{2, 1, 8192}, {128, 1, 8192}, {1000, 1, 64_000}, {10_000, 1, 1 << 18},
		{1000, 64, 1 << 15}, {10_000, 1000, 8192},
	} {
		b := buffersFor(true, c.ranks, c.words)
		if b.full != c.full || b.blocks*blockTasks > b.full || b.blocks < 64 {
			t.Errorf("%d ranks, states of %d words: %d states in %d blocks, want %d", c.ranks,
				c.words, b.full, b.blocks, c.full)
		}
	}
}
