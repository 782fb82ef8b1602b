// Package mapped is the files that engines map as shared memory: mapping them, setting their memory
// aside, and locks on their bytes. A lock belongs to an open file description: the system drops it
// when the process ends, however it ends.
package mapped
