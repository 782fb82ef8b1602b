// Package memory tells how much memory this process may still use, and gets
// large zeroed blocks of words from the system.
package memory
