// Package mark ties rare branches to the tests that reach them. A branch carries a
// mark; a test that claims the mark fails when it does not get there:
//
//	var lostToOther = mark.New("set: a compare-and-swap is lost to another word")
//
//	lostToOther.Hit()                // in the branch
//	lostToOther.Claim(t)             // in the test, before it begins
//	lostToOther.Intercept(t, fn)     // in a test that does something there
//
// Marks count under the race detector and with the build tag "invariants". Otherwise Hit does
// nothing, a claim cannot fail a test, and only the names of marks are in the program.
//
// A package whose TestMain ends with Main fails when one of its marks was claimed by no
// test. So every marked branch is reached by a test, and a test that does not reach its
// branch any more fails.
package mark
