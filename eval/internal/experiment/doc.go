// Package experiment runs what measures, and shows what it has measured.
//
// An [Experiment] has views (package view) and a [Runner], which measures all cases once on the
// ranks of a job and gives a record for each. This package does the rest: flags, jobs, runs
// that take turns with each other, ^C, tables, JSON, benchmark format and plots. A new
// experiment is a Runner and its views.
package experiment
