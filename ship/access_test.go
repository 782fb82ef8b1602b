package ship_test

import (
	"strings"
	"testing"

	"github.com/farhash/farhash/ship"
)

func TestParse(t *testing.T) {
	for a := ship.Auto; a <= ship.Shipped; a++ {
		if b, err := ship.Parse(a.String()); b != a || err != nil {
			t.Errorf("%v is parsed as %v, %v", a, b, err)
		}
	}
	if _, err := ship.Parse("twosided"); err == nil || !strings.Contains(err.Error(), "twosided") {
		t.Errorf("an unknown name gives %v", err)
	}
}
