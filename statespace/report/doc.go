// Package report writes what a search of a state space has found, in the forms that the commands of
// farhash offer:
//
//	Page       one HTML page, which needs no server: facts, answers, charts, traces
//	ITFTrace   traces in the Informal Trace Format of Apalache (its ADR-015), for Quint
//	Graph      small state spaces, explored again, as .dot (Graphviz) or .aut (CADP, mCRL2)
//	Coverage   how often each action was taken, as text and as a table of a page
//
// It also has the flags that farhash explore and the models of package check share: Limits,
// GraphFile and RegisterCoverage.
//
// No file is replaced that has another format: each begins with bytes by which it is known. Names
// come from models, and are escaped.
package report
