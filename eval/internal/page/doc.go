// Package page writes the tables of eval/docs/papers.md and nessie.md from what the commands have
// printed, and checks the figures of their prose.
//
// make figures runs the commands, whose output is in eval/docs/figures. A table of the page stands
// between two markers with its name:
//
//	<!-- begin: op-table1 -->
//	| load | ...
//	<!-- end: op-table1 -->
//
// [Tables] gives its rows, and [Write] writes them into the page. If somebody changes a cell by
// hand, CI finds it. Prose is written by hand. [Phrases] has those parts of it that have figures,
// with names in place of the figures that were printed. [Check] looks for these phrases, and for
// figures that are in none of them.
package page
