package cli

import (
	"fmt"
	"math"

	"github.com/dustin/go-humanize"

	"github.com/farhash/farhash/internal/system/memory"
)

// ParseBytes reads the size that a flag is given.
func ParseBytes(flag, text string) (uint64, error) {
	bytes, err := humanize.ParseBytes(text)
	if err != nil || bytes == 0 || bytes > math.MaxInt64 {
		return 0, fmt.Errorf("%s %q is no size such as 2GiB or 500MB", flag, text)
	}
	return bytes, nil
}

// Memory is the memory that a flag gives a command, or 80 % of what is available if it gives none.
func Memory(mem uint64) (uint64, error) {
	if mem > 0 {
		return mem, nil
	}
	left, err := memory.Now()
	if err != nil {
		return 0, fmt.Errorf("how much memory there is cannot be found (%w); give --mem", err)
	}
	return left.Bytes / 5 * 4, nil
}
