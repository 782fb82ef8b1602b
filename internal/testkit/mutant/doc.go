// Package mutant has switches for small wrong versions of the code, with which tests
// prove that they would notice:
//
//	var skipReexamination = mutant.New("set: who won a compare-and-swap is not examined")
//
//	if skipReexamination.On() { ... }          // in the code, beside what is right
//	defer skipReexamination.Switch()()         // in a test
//
// Mutants exist under the race detector and with the build tag "invariants". Otherwise On is the
// constant false: the wrong code is not compiled, and only the names of mutants are in the program.
package mutant
