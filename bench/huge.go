package bench

import "fmt"

// HugePages says whether the tables lay in huge pages.
type HugePages string

// What HugePages may be.
const (
	HugePagesUnknown HugePages = "unknown" // the system does not tell
	HugePagesNo      HugePages = "no"
	HugePagesSome    HugePages = "some"
	HugePagesYes     HugePages = "yes"
)

// String makes the unset value an unknown one.
func (h HugePages) String() string {
	if h == "" {
		return string(HugePagesUnknown)
	}
	return string(h)
}

// MarshalText does the same in JSON.
func (h HugePages) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// hugeCount compares the huge pages of this process before and after.
type hugeCount struct {
	bytes uint64
	known bool
}

func newHugeCount() hugeCount {
	bytes, known := hugeBytes()
	return hugeCount{bytes, known}
}

// since tells whether tableBytes that were touched since then are huge pages.
func (c hugeCount) since(tableBytes uint64) HugePages {
	now, known := hugeBytes()
	const hugePage = 2 << 20
	switch gained := now - min(now, c.bytes); {
	case !c.known || !known || tableBytes < hugePage:
		return HugePagesUnknown
	case gained >= tableBytes/10*9:
		return HugePagesYes
	case gained > 0:
		return HugePagesSome
	}
	return HugePagesNo
}

// with is what several tables had: "some" if they differed.
func (h HugePages) with(other HugePages) HugePages {
	switch {
	case h == "" || h == HugePagesUnknown:
		return other
	case other != HugePagesUnknown && other != h:
		return HugePagesSome
	}
	return h
}

// Count prints a number of buckets or words for people: "128Mi", "1000".
func Count(n uint64) string {
	for i, unit := range []string{"Gi", "Mi", "Ki"} {
		if size := uint64(1) << (30 - 10*i); n >= size && n%size == 0 {
			return fmt.Sprintf("%d%s", n/size, unit)
		}
	}
	return fmt.Sprint(n)
}
