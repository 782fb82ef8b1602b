package ship

import "fmt"

// Access is how a table reaches memory that is not addressable in its process.
type Access int

const (
	// Auto ships batches where that takes less time than one-sided operations.
	Auto Access = iota
	// OneSided ships nothing.
	OneSided
	// Shipped ships batches of any size. It is an error where the engine cannot.
	Shipped
)

// String is the name that Parse takes.
func (a Access) String() string {
	if a < Auto || a > Shipped {
		return fmt.Sprintf("Access(%d)", int(a))
	}
	return [...]string{"auto", "one-sided", "shipped"}[a]
}

// Parse is the access of a name.
func Parse(name string) (Access, error) {
	for a := Auto; a <= Shipped; a++ {
		if name == a.String() {
			return a, nil
		}
	}
	return Auto, fmt.Errorf("ship: access %q is neither \"auto\", \"one-sided\" nor \"shipped\"",
		name)
}

// Check refuses what is no Access.
func (a Access) Check() error {
	if a < Auto || a > Shipped {
		return fmt.Errorf("ship: Access must be Auto, OneSided or Shipped, not %d", int(a))
	}
	return nil
}
