// Package try runs commands of farhash in tests: [New] and [Run] in a process of its own, [Here] in
// that of the test. A package whose tests use it calls [Main] in TestMain, because the process that
// they start is their own program again.
package try
