package shared

import (
	"bytes"
	"testing"
	"time"

	"github.com/farhash/farhash/kv"

	"github.com/farhash/farhash/eval/internal/measure"
)

// swapped is a store in memory that mixes up keys whose last bits are equal to wrong.
type swapped struct {
	values map[string][]byte
	wrong  byte
}

func (s swapped) Calls(calls []kv.Call, _ bool) error {
	for i := range calls {
		c := &calls[i]
		key := string(c.Key)
		if c.Key[0]&7 == s.wrong {
			key = "another"
		}
		if c.Kind == kv.Put {
			s.values[key] = bytes.Clone(c.Value)
		} else {
			c.Value, c.Done = append(c.Value, s.values[key]...), s.values[key] != nil
		}
	}
	return nil
}

func (s swapped) Close() error { return nil }

// A value of another key is noticed.
func TestCheck(t *testing.T) {
	const none = 8
	for _, wrong := range []byte{none, 3} {
		s, p := swapped{map[string][]byte{}, wrong}, newPiece(100, 1)
		if err := p.load(s, 250); err != nil {
			t.Fatal(err)
		}
		p.follow(measure.NewLaw(measure.Uniform, 250), 70)
		p.fill(workloadB)
		n, _, err := p.run(s, 1, time.Now().Add(time.Minute))
		if n != 100 || err != nil {
			t.Fatalf("%d calls: %v", n, err)
		}
		if err := p.check(n); (err == nil) != (wrong == none) {
			t.Errorf("keys ending in %d are mixed up: %v", wrong, err)
		}
	}
}
