// Package model reads models of symbolic model checkers: an initial set of states and relations
// that say which states follow, all as decision diagrams.
//
//	m, err := model.ReadFile("collision.4.ldd", 1<<30)
//	...
//	s, err := symbolic.New(ctx, symbolic.Config{Levels: m.Levels})
//	...
//	initial, relations, err := m.Load(s)
//	all, err := s.ReachBy(initial, relations, symbolic.Loops)
//	n, err := s.Count(all) // the number of reachable states
//
// Two formats are known. Which one a file has is found from its beginning. All numbers are little
// endian: int is 32 bits, word is 64.
//
// # List decision diagrams
//
// Files .ldd are written by LTSmin (pins2lts-sym, set implementation lddmc) and by Sylvan (lddmc).
// The format is documented by their sources: src/vset-lib/vset_lddmc.c and
// src/pins2lts-sym/auxiliary/output.c of LTSmin, examples/lddmc.c and src/sylvan_ldd.c of Sylvan.
//
//	file:       int integers; set initial; int groups; projection × groups; diagram × groups
//	set:        int -1; diagram
//	diagram:    word count; node × count; word root
//	node:       word; word
//	projection: int read; int written; int level × read; int level × written
//
//	| value, low bits (16) | right (47) | 0 |   | down (47) | copy | value, high bits (16) |
//	 63                  48 47         1  0     63        17   16    15                    0
//
// Nodes are numbered from 2 on through all diagrams of a file, and name nodes before them; 0 is the
// empty set and 1 the set of the empty vector. A vector of a relation has one entry for each level
// that is read and one for each that is written, by level, the one that is read first, and often an
// action label at its end, which is ignored. A copy node stands for any entry that is read, and for
// the entry before the step where it is written. What follows the relations in a file is not read.
//
// A relation with copy nodes becomes several, one for each combination of levels at which its
// vectors have them.
//
// # Binary decision diagrams
//
// Files .bdd are the models of DistBDD, from an older Sylvan (Oortwijn, van Dijk and van de Pol,
// SPIN 2017). The format is documented by main.c of DistBDD. Files .bdd of newer versions of Sylvan
// are of another format, and are refused.
//
//	file:     int integers; int bits; int action bits; set initial; int groups;
//	          relation × groups
//	set:      diagrams; word root; word integers; word variables
//	relation: diagrams; word root; word variables
//	diagrams: word count; node × count
//	node:     word; word
//
//	| complement (1) | ... | high (40) |    | variable (24) | low (40) |
//	       63          62 40 39       0      63           40 39        0
//
// Nodes are numbered from 1 on; 0 is false. A bit 63 complements a diagram, so 0 with it is true.
// Bit i of a state is variable 2i, and variable 2i+1 after a step. Variables is a conjunction. A
// relation keeps the bits whose variables it does not have; larger variables are of action labels,
// which are ignored. Each bit is a level here, with entries 0 and 1.
package model
