package invariant

import "fmt"

// Check panics with the formatted message if ok is false and assertions are on.
// Guard calls with costly arguments by Enabled.
func Check(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}
