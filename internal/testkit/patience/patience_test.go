package patience

import (
	"strings"
	"testing"
	"time"
)

func TestStretch(t *testing.T) {
	for _, c := range []struct {
		round    time.Duration
		runnable int
		want     float64
	}{
		{roundTakes / 2, 1, 1}, {roundTakes, 2, 1}, {5 * roundTakes, 2, 5}, {roundTakes, 12, 6},
		{5 * roundTakes, 20, 10},
	} {
		if got := stretch(c.round, c.runnable, 2); got != c.want {
			t.Errorf("a round of %v, %d runnable on 2 processors: %g, want %g", c.round, c.runnable,
				got, c.want)
		}
	}
}

func TestRunnable(t *testing.T) {
	for text, want := range map[string]int{"6.9 5.1 3.7 20/178 27417\n": 20, "": 0, "a b c d": 0} {
		if got := runnable([]byte(text)); got != want {
			t.Errorf("%q: %d runnable, want %d", text, got, want)
		}
	}
}

// A process that a test starts stretches as the test does.
func TestEnviron(t *testing.T) {
	name, value, _ := strings.Cut(Environ(), "=")
	if Stretch(time.Minute) < time.Minute {
		t.Error("a limit is shortened")
	}
	t.Setenv(name, value)
	if again := Environ(); again != name+"="+value {
		t.Errorf("%s, want the value %s", again, value)
	}
	t.Setenv(name, "7.5")
	if got := Stretch(time.Minute); got != 450*time.Second {
		t.Errorf("7.5 minutes are %v", got)
	}
}
