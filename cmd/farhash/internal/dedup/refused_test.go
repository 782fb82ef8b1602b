package dedup

import (
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// TestRefusedFlags: what makes no sense is wrong usage, says why, and neither starts nor writes
// anything.
func TestRefusedFlags(t *testing.T) {
	try.Refuses(t, [][2]string{
		{"--record excludes --count", "dedup --record 2 --count TEXT"},
		{"--record excludes --null", "dedup --record 2 --null TEXT"},
		{"--record excludes --null, --field and", "dedup --record 2 --field 1 TEXT"},
		{"--record excludes --null, --field and --key", "dedup --record 2 --key k TEXT"},
		{"--record must be 1 to", "dedup --record 0 TEXT"},
		{"--record must be 1 to", "dedup --record 1000000000000 TEXT"},
		{"--field and --key exclude", "dedup --field 1 --key k TEXT"},
		{"--field must be 1 or more, not -1", "dedup --field -1 TEXT"},
		{"--key needs the name of a key", "dedup --key= TEXT"},
		{"--delimiter must be one byte", "dedup --field 1 --delimiter= TEXT"},
		{"--delimiter must be one byte other than zero", "dedup --field 1 --delimiter \x00 TEXT"},
		{"--csv needs --field", "dedup --csv TEXT"},
		{"--csv needs --field", "dedup --csv=false --key k TEXT"},
		{`--csv excludes --delimiter "\""`, "dedup --csv --field 1 --delimiter \" TEXT"},
		{"--seen keeps no counts", "dedup --seen TEXT.seen --repeated TEXT"},
		{"--seen keeps no counts", "dedup --seen TEXT.seen --unique TEXT"},
		{"--seen: ", "dedup --seen TEXT TEXT"},
		{"-o and --seen name the same file", "dedup --seen TEXT.seen -o TEXT.seen TEXT"},
		{`--mem "0" is no size`, "dedup --mem 0 TEXT"},
	})
}
