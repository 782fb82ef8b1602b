// Package plural puts numbers before nouns.
package plural

import (
	"strconv"

	"github.com/dustin/go-humanize/english"
)

// Of is a number of things, in digits alone: "1 rank", "2000 ranks".
func Of(n int, noun string) string {
	return strconv.Itoa(n) + " " + english.PluralWord(n, noun, "")
}
