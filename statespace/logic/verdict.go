package logic

// Verdict is what is known about the truth of a formula, or of another property.
type Verdict int

// The verdicts.
const (
	Unknown Verdict = iota // nobody has answered, as where a search ended too early
	True
	False
)

// VerdictOf is the verdict of what is known.
func VerdictOf(truth bool) Verdict {
	if truth {
		return True
	}
	return False
}

func (v Verdict) String() string { return [...]string{"unknown", "true", "false"}[v] }

// MarshalJSON gives true, false, or null where nothing is known.
func (v Verdict) MarshalJSON() ([]byte, error) {
	return []byte([...]string{"null", "true", "false"}[v]), nil
}
