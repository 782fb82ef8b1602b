// Package nearest finds what was meant by a name that is not known.
package nearest

import (
	"fmt"
	"iter"
	"strings"
)

// Name is the known name that typed differs least from, the first of several. It is empty if all
// differ in more than a third of the letters of typed, or in all. Case does not count.
func Name(typed string, known iter.Seq[string]) (name string) {
	least := min((len(typed)+2)/3+1, len(typed))
	lower := strings.ToLower(typed)
	for k := range known {
		if len(k)-len(typed) >= least || len(typed)-len(k) >= least {
			continue
		}
		if n := distance(lower, strings.ToLower(k)); n < least {
			name, least = k, n
		}
	}
	return name
}

// Suggestion is `; did you mean "NAME"?`, empty if no known name is near.
func Suggestion(typed string, known iter.Seq[string]) string {
	if name := Name(typed, known); name != "" {
		return fmt.Sprintf("; did you mean %q?", name)
	}
	return ""
}

// distance is how many bytes have to be inserted, removed or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // distances of a beginning of a from all of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
