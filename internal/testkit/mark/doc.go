// Package mark ties rare branches to the tests that reach them. A branch carries a
// mark; a test that claims the mark fails when it does not get there:
//
//	var lostToOther = mark.New("set: a compare-and-swap is lost to another word")
//
//	lostToOther.Hit()                // in the branch
//	lostToOther.Claim(t)             // in the test, before it begins
//	lostToOther.Intercept(t, fn)     // in a test that wants something to happen there
//
// Marks count under the race detector and with the build tag "invariants". Otherwise
// Hit is nothing, and claims are not held against a test.
//
// A package whose TestMain ends with Main fails when one of its marks was claimed by no
// test. So a branch that no test reaches cannot be marked, and one that was
// reached by chance is noticed when it is not any more.
package mark
