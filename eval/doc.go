// Package eval is the module that measures what the four papers behind farhash have measured,
// and prints each table and figure beside the paper's. It has a package for each paper:
//
//	op   Oortwijn et al.: A Distributed Hash Table for Shared Memory (package set)
//	lp   Wang et al.: Efficient Usage of One-Sided RDMA for Linear Probing (package index)
//	md   Luebke et al.: MPI-DHT as Surrogate Model (package cache)
//	ne   Szepesi et al.: Nessie (package kv), with the paper's own protocol
//	net  operations between hosts, one-sided and shipped (LP 7)
//
// Packages dedup and shared measure farhash beside other programs and stores.
//
// docs/papers.md has their results, and what cannot be reproduced; package internal/page writes its
// tables. The command farhash-eval runs the experiments. An experiment measures and gives records
// (package internal/record), in the benchmark format of Go; views (package internal/view) make
// tables, JSON and plots of records. So a result that was saved can be shown again, and a new
// experiment is what it measures and a few lines on how it is shown.
//
// The tables and engines belong to the module above, which knows nothing of this one.
package eval
