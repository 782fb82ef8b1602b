// Package dedup measures farhash dedup beside other programs that remove repeated lines.
//
// A file has lines of one length. Each of them is new, or repeats one of those before it, chosen
// evenly, with a chance that is a parameter. Every program reads the file and writes distinct lines
// to another file. What is measured is what wait4 says of its process and those that it has waited
// for: CPU time of user and system together, and the largest memory of one process. The files are
// in the page cache when a program begins.
//
// The answers are compared: all programs must write as many lines, with the same sum of hashes. A
// farhash that is wrong or fails ends the experiment with an error; another program is shown
// as failed. What is not installed is shown as such.
package dedup
