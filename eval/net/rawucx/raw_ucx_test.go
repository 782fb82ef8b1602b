//go:build ucx && cgo

package rawucx

import "testing"

// Two sides of one process get from each other's memory, and every get is counted.
func TestUCXGets(t *testing.T) {
	t.Setenv("UCX_TLS", "tcp,self")
	var sides [2]*Side
	for i := range sides {
		side, err := Open(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		defer side.Close()
		sides[i] = side
	}
	card, err := sides[1].Card()
	if err != nil {
		t.Fatal(err)
	}
	if err := sides[0].Connect(card); err != nil {
		t.Fatal(err)
	}
	if err := sides[0].Connect(card[:5]); err == nil {
		t.Error("half a card was taken for one")
	}
	for _, spin := range []bool{false, true} {
		if err := sides[1].Serve(spin); err != nil {
			t.Fatal(err)
		}
		for _, inFlight := range []int{1, 7} {
			each := make([]int64, 100)
			took, err := sides[0].Gets(100, 512, inFlight, 1, each)
			if err != nil || took <= 0 {
				t.Errorf("%v, %v", took, err)
			}
			for _, ns := range each {
				if ns <= 0 || ns > int64(took) {
					t.Errorf("a get took %d ns of %v", ns, took)
				}
			}
		}
		sides[1].Stop()
	}
}
