// Package cstore has stores in C that processes of a host share, as peers: LMDB, with the build tag
// lmdb, and SharedHashFile, with the build tag sharedhashfile. Without its tag a store cannot be
// opened, and the error says how to install it.
//
// Calls are made many at a time by a loop in C, so that a store is not charged for calls from Go to
// C. The calls are still made one after the other, each as a program in C would make it; with LMDB
// each has a transaction of its own, or all of them share one.
package cstore
