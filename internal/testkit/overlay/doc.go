// Overlay tests the packages of this repository with their marks and wrong versions in place. The
// product itself has neither: a mark is a comment, a wrong version is a file beside the tests.
//
//	go run ./internal/testkit/overlay -race ./set        as go test -race ./set, with marks
//	go run ./internal/testkit/overlay -mutants ./set     every wrong version of set is noticed
//	go run ./internal/testkit/overlay -mutants -only 'loses .*' ./set
//	go run ./internal/testkit/overlay -mutants -since HEAD~3 ./...
//
// With -v it prints what the tests print: how each mutant is noticed. With -since it takes the
// packages that differ from that revision, and the packages that these import.
// Without -mutants all arguments are passed on to go test. Overlay writes a copy of each source
// that has a mark or a wrong version, and names the copies with go test's flag -overlay.
//
// # Marks
//
// A mark names a rare branch, by a comment of one line at its end or alone on a line:
//
//	default: // mark: loses its bucket to another word
//
// Its name is the name of the package and the text: "set: loses its bucket to another word". It
// becomes a call of Hit of package mark. Tests get it by mark.Named.
//
// # Mutants
//
// The file testdata/mutants.txt of a package has its mutants, small wrong versions that tests must
// notice. A line that begins with # is a comment. Each mutant is as follows:
//
//	mutant: what won a compare-and-swap is skipped
//	func: direct.go search.insert
//	test: TestLabScripts/word_loses_its_bucket
//	 	default:
//	-		return other
//	+		continue
//
// The lines with - and with a space stand, one after the other, exactly once in the function, where
// white space at their ends does not count; a lone space, minus or plus is an empty line. The lines
// with + and with a space replace them. More hunks begin with a further line func. The test fails
// while the mutant is in place: go test's -run gets it. Optional lines are
//
//	args: -seeds 500         more flags for the test
//	seed: 857                the test is tried with this seed first
//	tags: ucx                build tags of the test
//	build: alone             the mutant is compiled by itself, for a test that reads machine code
//
// A mutant of a function, in Go or C, is selected by a switch: the function is copied, the copy is
// changed, and the function calls the copy while the environment variable OVERLAY_MUTANT has the
// name of the mutant. So a package is compiled once. A mutant of a file has "file:" and the file in
// place of "func:". A file in assembly is copied as a whole, and selected in the same way. Any
// other file, for a constant or a type, is compiled by itself.
//
// A test that runs random schedules looks for one that shows the mutant. Overlay prints the seed of
// that schedule, and -record writes it into the file as the line seed. A seed that no longer shows
// the mutant costs the search anew and fails nothing.
//
// A mutant whose lines are not there, and one that no test notices, is an error. A mutant that
// makes its test endless is noticed when the test has taken 20 times as much time as without it,
// or 20 times as much time of processors, and in either case at least 10 s.
package main
