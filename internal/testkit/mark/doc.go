// Package mark ties rare branches to the tests that reach them. A branch carries a mark, a comment:
//
//	default: // mark: a compare-and-swap is lost to another word
//
// In a test of package set:
//
//	var lostToOther = mark.Named("set: a compare-and-swap is lost to another word")
//
//	lostToOther.Claim(t)             // before the test begins: it fails if it does not get there
//	lostToOther.Intercept(t, fn)     // fn runs each time that the branch is reached
//	mark.Need(t)                     // skips a test that is nothing without its marks
//
// The command internal/testkit/overlay puts the marks in place: it turns the comments into calls of
// Hit, for tests alone. Without it a claim cannot fail a test.
//
// A package whose TestMain ends with Main fails when one of its marks was claimed by no test. So
// every marked branch is reached by a test, and a test that does not reach its branch any more
// fails.
package mark
