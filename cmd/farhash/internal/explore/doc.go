// Package explore is the command farhash explore, and the commands petri and symbolic beside it.
//
// explore.go has the flags, reads the net and what is asked of it (files.go, properties.go), and
// searches. engine.go chooses the engine, and runs both at the same time; symbolic.go runs the
// symbolic one alone. Either result becomes an answer (answer.go, trace.go), which is printed as
// text, JSON or lines of the contest, some of it while the search runs (stream.go, display.go), and
// written as a page (page.go) or as traces for other tools (itf.go). export.go writes the graph of
// all markings, lost.go says how to continue after the loss of a rank.
package explore
