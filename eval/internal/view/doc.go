// Package view shows records: as a table for people, as JSON, and as plots.
//
// A [View] says which records it shows and which of their units become columns; everything
// else follows from the records. A row is a case. Keys of one value stand above the table, keys
// that vary are its first columns, and one key may have its values side by side ([View.Across]).
// Figures are medians; columns with a spread have the least and the largest beside. What a paper
// prints is a unit like any other.
//
// A [Plot] has a key on the horizontal axis and a unit on the vertical one. Where the values
// of the key are numbers there are lines, else groups of bars. What a paper prints is drawn as
// rings.
package view
