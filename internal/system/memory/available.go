package memory

import (
	"fmt"
	"math"
	"syscall"
)

// Available is the memory that may still be used.
type Available struct {
	Bytes  uint64
	Source string // of that number: "the machine", "the control group"
}

// Check returns an error that says what is missing if sizeBytes more are not
// available. On a system that does not say, it returns nil.
func Check(sizeBytes uint64, what string) error {
	avail, err := Now()
	if err != nil || sizeBytes <= avail.Bytes {
		return nil
	}
	return &ShortError{what, sizeBytes, avail}
}

// ShortError says that there is less memory than something needs. It is a syscall.ENOMEM.
type ShortError struct {
	What      string
	NeedBytes uint64
	Left      Available
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("%s needs %s, and %s has %s left: %s are missing", e.What,
		Format(e.NeedBytes), e.Left.Source, Format(e.Left.Bytes), Format(e.NeedBytes-e.Left.Bytes))
}

// Is reports that the error is of the kind of syscall.ENOMEM.
func (e *ShortError) Is(target error) bool { return target == syscall.ENOMEM }

// Format prints a number of bytes for people: "1.5 GiB".
func Format(sizeBytes uint64) string { return format(sizeBytes, math.RoundToEven) }

// FormatUp is Format for memory that is enough: what it says is never less.
func FormatUp(sizeBytes uint64) string { return format(sizeBytes, math.Ceil) }

// format rounds tenths.
func format(sizeBytes uint64, round func(float64) float64) string {
	const unit = 1024
	if sizeBytes < unit {
		return fmt.Sprintf("%d B", sizeBytes)
	}
	value, prefix := float64(sizeBytes)/unit, 0
	for round(value*10) >= unit*10 && prefix < len("KMGTPE")-1 {
		value /= unit
		prefix++
	}
	return fmt.Sprintf("%.1f %ciB", round(value*10)/10, "KMGTPE"[prefix])
}
