package petri

// MaxNesting lets tests reach the limit of Read.
const MaxNesting = maxNesting

// RWMutex lets tests take other numbers of readers than of writers.
var RWMutex = rwMutex
