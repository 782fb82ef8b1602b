// Stages runs targets of make, the stages of a run of all tests, and reports them together:
//
//	go run ./internal/testkit/stages test lint              one after the other
//	go run ./internal/testkit/stages -beside 2 lint cross   two at a time
//
// Each stage runs, whether others fail or not, and is ended after a limit. The last lines are a
// table of the stages with their time, the packages and mutants that took most of it, and the names
// of all tests that failed.
//
// A stage gets flags for go test in the variable TESTFLAGS. By them go test runs each test binary
// through stages, which ends the binary after go test's -timeout, measures it, and keeps it if it
// fails. Limits follow the load of the machine, as in package patience.
//
// # Tests that start processes
//
// A test that starts processes can fail for a reason outside the test. So when all stages have
// ended, each such test that failed runs once more, alone. A second failure fails. If the test
// passes, the report calls it FLAKY, and the run can still succeed. The file
// again.go names the packages with such tests. A data race is never tried again.
package main
