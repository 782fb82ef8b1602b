// Package measure has what experiments share: values of all ranks ([Gather]), windows whose
// memory is there before the clock runs ([TouchedJob]), streams of words, keys and values that
// can be verified, and histograms of latencies.
package measure
