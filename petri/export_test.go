package petri

// MaxNesting lets tests reach the limit of Read.
const MaxNesting = maxNesting
