// Package memory finds how much memory this process may still use, and maps large zeroed blocks
// of words. It also prefetches cache lines.
package memory
