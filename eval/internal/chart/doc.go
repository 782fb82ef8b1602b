// Package chart is how plots of this project look: panels side by side, with a grid and
// colours that everybody can distinguish, written as SVG or PNG. What is drawn is up to
// who calls.
package chart
