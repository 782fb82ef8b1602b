package memory

import "fmt"

// Available is the memory that may still be used.
type Available struct {
	Bytes  uint64
	Source string // what says so: "the machine", "the control group"
}

// Check returns an error that says what is missing if sizeBytes more are not
// available. A system that does not tell passes.
func Check(sizeBytes uint64, what string) error {
	avail, err := Now()
	if err != nil || sizeBytes <= avail.Bytes {
		return nil
	}
	return fmt.Errorf("%s needs %s, and %s has %s left: %s are missing", what,
		Format(sizeBytes), avail.Source, Format(avail.Bytes), Format(sizeBytes-avail.Bytes))
}

// Format prints a number of bytes for people: "1.5 GiB".
func Format(sizeBytes uint64) string {
	const unit = 1024
	if sizeBytes < unit {
		return fmt.Sprintf("%d B", sizeBytes)
	}
	value, prefix := float64(sizeBytes)/unit, 0
	for value >= unit-0.05 && prefix < len("KMGTPE")-1 {
		value /= unit
		prefix++
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTPE"[prefix])
}
