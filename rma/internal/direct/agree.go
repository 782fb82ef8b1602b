package direct

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/farhash/farhash/rma"
)

// MaxWords is the largest window, all segments together: 2^50 words, or what has less than 2^31
// bytes where an int has 32 bits.
const MaxWords = min(1<<50, math.MaxInt/8)

// The values that ranks exchange about a window: the words, a hash of the name and the key, and
// as much of them as there is room for.
const (
	specWords = iota
	specHash
	specText
)

// textBytes is the number of bytes of a window's name and key that ranks exchange.
const textBytes = (ValueWords - specText) * 8

// Exchanger gives the values of each rank to every rank.
type Exchanger interface {
	Exchange(ctx context.Context, mine Values) ([]Values, error)
}

// AgreeOnSpec makes sure that every rank makes the same window. Collective.
func AgreeOnSpec(ctx context.Context, g Exchanger, spec rma.Spec) error {
	all, err := g.Exchange(ctx, specValues(spec))
	if err != nil {
		return fmt.Errorf("making window %q: %w", spec.Name, err)
	}
	for rank, v := range all {
		if v != all[0] {
			return fmt.Errorf("making a window: rank 0 makes %s, rank %d makes %s; "+
				"every rank must make the same ones in the same order",
				all[0].spec(), rank, v.spec())
		}
	}
	if limit := MaxWords / len(all); spec.Words < 1 || spec.Words > limit {
		return fmt.Errorf("making window %q: a segment of %d ranks has 1 to %d words, not %d",
			spec.Name, len(all), limit, spec.Words)
	}
	return nil
}

func specValues(spec rma.Spec) Values {
	described := spec.Name
	if spec.Key != "" && spec.Key != spec.Name {
		described += ", key " + spec.Key
	}
	hash := fnv.New64a()
	if spec.Reserve {
		described += ", reserved"
	}
	hash.Write([]byte(described))
	v := Values{specWords: uint64(spec.Words), specHash: hash.Sum64()}
	var text [textBytes]byte
	copy(text[:], described)
	for i := range v[specText:] {
		v[specText+i] = binary.LittleEndian.Uint64(text[i*8:])
	}
	return v
}

// spec describes the window that a rank makes.
func (v Values) spec() string {
	var text []byte
	for _, word := range v[specText:] {
		text = binary.LittleEndian.AppendUint64(text, word)
	}
	return fmt.Sprintf("%q with %d words per rank", bytes.TrimRight(text, "\x00"),
		int64(v[specWords]))
}
