// Package archive is a file of checksummed blocks that many ranks write and read
// at once.
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
// Ranks write into a temporary file beside the one wanted, each block by its
// number; who writes which number is for the caller to hand out. When all are done, and
// what each has written is on the disk, one rank writes the header and renames the file.
// A crash before leaves what was there before, and a temporary file that the next save to this
// path uses.
//
// The file has a mark of its own from the beginning, by which the ranks know it: on hosts
// that share no folder the path leads to none, or to another that a job has left behind.
//
// # Reading
//
// Open verifies the header and the size, ReadBlock verifies a block. A truncated,
// foreign or corrupted file is an error that says which of these it is. A Loader also makes
// sure that all ranks read the same file, or copies of it, and that it has as many records as
// were saved. Versions 1 and 2, whose checksums did not cover the mark, are refused.
package archive
