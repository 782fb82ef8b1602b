// Package archive is a file of checksummed blocks that many ranks write and read
// at once: a checkpoint of package explore, or a saved set or cache.
//
//	byte 0           header: magic, version, number of blocks, block size, length of
//	                 a description, mark, number of records, the description, checksum
//	byte 4096        block 0: section, length, checksum, payload
//	4096 + stride    block 1 ...
//
// Numbers are little-endian. All blocks have the same stride, so that a rank
// finds any of them; a payload may be shorter. The checksum of a block covers the mark of the
// file and the block's number, section and payload, so that a block in a wrong place or from
// another file is noticed as well.
//
// # Writing
//
// Ranks write into a temporary file beside the final one, each block by its
// number. The caller decides which rank writes which number. When all are done, and
// what each has written is on the disk, one rank writes the header and renames the file.
// A crash before that leaves the old file, and a temporary file that the next save to this
// path uses.
//
// The file begins with a random mark, by which the ranks identify it: on hosts that share no
// folder the path leads to no file, or to another one that an earlier job has left.
//
// # Reading
//
// Open verifies the header and the size, ReadBlock verifies a block. For a truncated,
// foreign or corrupted file the error says which of these it is. It begins with the path and
// not with the name of this package, as users read it. A Loader also makes
// sure that all ranks read the same file, or copies of it, and that it has as many records as
// were saved. Versions 1 and 2, whose checksums did not cover the mark, are refused.
package archive
