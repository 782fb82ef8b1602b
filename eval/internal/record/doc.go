// Package record is the format between measuring and showing: the benchmark format of Go.
//
// A [Record] is one measurement of one case. Its name says what was measured, its keys say
// under which conditions, and its values are figures with units:
//
//	BenchmarkOPTable1/C=8/load=0.50-2   83886   377 ns/op   1.034 trips/op   1 op-trips/op
//
// What a paper prints for a case is a value of a unit of its own, so that it stays beside
// what was measured. A [Table] gathers the records of equal name and keys into cases: a case
// has the median, the least and the largest of each unit.
//
// Keys and values of keys have neither white space nor slashes, since the format separates
// by them: [K] replaces a slash by a dot and white space by an underscore.
package record
