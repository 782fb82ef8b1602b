package lab

import "testing"

// Script is one interleaving, or one small case, that is written down: for what chance hardly
// finds, and for loops over memory, which the simulated engine does not run.
type Script struct {
	Name string
	// Run has an error where an answer is wrong. It may skip the test.
	Run func(t *testing.T) error
}

// Scripts are the scripts of a package.
type Scripts []Script

// Run runs each script.
func (s Scripts) Run(t *testing.T) {
	for _, script := range s {
		t.Run(script.Name, func(t *testing.T) {
			if err := script.Run(t); err != nil {
				t.Fatal(err)
			}
		})
	}
}
