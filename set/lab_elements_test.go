package set

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// labElementTable is Elements.
var labElementTable = &lab.Table{Name: "set of elements", Model: labModel,
	Open: with(openLabElements, rma.Auto)}

func openLabElements(ctx context.Context, job rma.Job, rng *rand.Rand, cfg Config) (lab.Client,
	error) {
	size := rng.IntN(len(labSizes))
	e, err := NewBytes(ctx, job, BytesConfig{Config: cfg,
		ElementBytes: labSizes[size], Capacity: 64})
	if err != nil {
		return nil, err
	}
	first := e.newTable(0) // the others may have come to the next one
	elements := labElements(rng, first, size)
	c := &labSet{keys: len(elements), t: first, check: e.check, len: e.Len}
	c.hash = func(key int) uint64 { return hashElement(e.aligned(elements[key])) }
	c.key = func(bucket uint64) (int, error) {
		words, err := e.oldest.Load().elementOf(bucket)
		if err != nil {
			return 0, err
		}
		stored := core.BytesOf(words)[:labSizes[size]]
		key := slices.IndexFunc(elements, func(e []byte) bool { return bytes.Equal(e, stored) })
		if key < 0 {
			return 0, fmt.Errorf("% x was never inserted", stored)
		}
		return key, nil
	}
	of := func(keys []int) (batch []byte) {
		for _, key := range keys {
			batch = append(batch, elements[key]...)
		}
		return batch
	}
	c.insert = func(keys []int, single bool) ([]labAnswer, error) {
		results, refs := make([]Result, len(keys)), make([]Ref, len(keys))
		if single {
			r, err := e.FindOrPut(elements[keys[0]])
			return answersOf([]Result{r}, nil), err
		}
		err := e.FindOrPutPacked(of(keys), results, refs)
		answers := answersOf(results, refs)
		if err != nil {
			return answers, err
		}
		return answers, e.checkRefs(ctx, answers, of(keys))
	}
	c.find = func(keys []int, single bool) ([]labAnswer, error) {
		results := make([]Result, len(keys))
		if single {
			found, err := e.Contains(elements[keys[0]])
			return []labAnswer{{result: resultOf(found, err)}}, err
		}
		err := e.ContainsPacked(of(keys), results)
		return answersOf(results, nil), err
	}
	return c, nil
}

// checkRefs makes sure that references are those of the elements of a batch.
func (e *Bytes) checkRefs(ctx context.Context, answers []labAnswer, batch []byte) error {
	dst := make([]byte, e.oldest.Load().size)
	for i, answer := range answers {
		if !answer.hasRef {
			continue
		}
		var err error
		if dst, err = e.Append(dst[:0], answer.ref); err != nil {
			return err
		}
		if element := batch[i*len(dst):][:len(dst)]; !bytes.Equal(dst, element) {
			return fmt.Errorf("the reference %#x of % x is that of % x", uint64(answer.ref),
				element, dst)
		}
	}
	return nil
}

// labStringTable is Bytes of any length.
var labStringTable = &lab.Table{Name: "set of strings", Model: labModel,
	Open: with(openLabStrings, rma.Auto)}

func openLabStrings(ctx context.Context, job rma.Job, rng *rand.Rand, cfg Config) (lab.Client,
	error) {
	s := new(Bytes)
	if err := s.open(ctx, job, stringsConfig(cfg, job.Size())); err != nil {
		return nil, err
	}
	first := s.newTable(0) // the others may have come to the next one
	elements := labStrings(rng, first)
	c := &labSet{keys: len(elements), t: first, check: s.check, len: s.Len}
	c.hash = func(key int) uint64 { return hashHead(appendString(nil, elements[key])[0]) }
	c.key = func(bucket uint64) (int, error) {
		words, err := s.elementOf(bucket)
		if err != nil {
			return 0, err
		}
		stored := stringBytes(words)
		key := slices.IndexFunc(elements, func(e []byte) bool { return bytes.Equal(e, stored) })
		if key < 0 {
			return 0, fmt.Errorf("% x was never inserted", stored)
		}
		return key, nil
	}
	callItems(c, s, elements)
	return c, nil
}
