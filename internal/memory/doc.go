// Package memory tells how much memory this process may still use, and gets
// large zeroed blocks of words from the system. It asks for lines before they are needed.
package memory
