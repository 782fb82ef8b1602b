package rma

// A Shared job has one rank whose windows outlive it, and any number of processes are that rank at
// a time: its members. They come, go and are killed while others work. So what a table keeps beside
// its windows is of one member alone, and what a member holds when it ends is adopted by others.
type Shared interface {
	Job
	// Attached reports whether the windows were there before this process came. If not, this
	// process makes them, and nobody else sees them before the table is complete.
	Attached() bool
	// Record is what SetRecord has stored when the windows were made: the configuration.
	Record() []uint64
	// SetRecord stores up to MaxRecord words, before the table is complete.
	SetRecord(words []uint64)
	// Member is the number of this process among the members: 0 to MaxMembers-1. Each living one
	// has another.
	Member() int
	// Inherits reports whether the last member with this number has ended and nobody has adopted
	// what it left: this one has to, before it does anything else.
	Inherits() bool
	// Leaves says whether others have to adopt what this member leaves when it closes the job. One
	// that is killed always leaves something.
	Leaves(something bool)
	// Adopt calls adopt for each member that has ended and left something, while no process can get
	// its number, and forgets about it where adopt returns nil. Several processes may call it; each
	// member is adopted by one. It returns the first error.
	Adopt(adopt func(member int) error) error
	// Fault is the error of an access to an address that the processor has refused, nil if it is
	// not in a window of this job. The reason is that the file of the windows was cut off.
	Fault(address uintptr) error
}

const (
	// MaxMembers is how many processes can be members of a Shared job at a time.
	MaxMembers = 1 << 10
	// MaxRecord is how many words a Shared job records.
	MaxRecord = 32
)
