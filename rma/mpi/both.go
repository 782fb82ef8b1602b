//go:build openmpi && mpich

package mpi

var _ = chooseOneOfTheBuildTagsOpenmpiAndMpich
