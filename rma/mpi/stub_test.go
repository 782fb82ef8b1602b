//go:build !mpi || !cgo

package mpi

import (
	"context"
	"strings"
	"testing"
)

// Without the engine Join and Start say how to build it.
func TestNotBuilt(t *testing.T) {
	_, err := Join(context.Background(), Config{})
	if _, err2 := JoinComm(context.Background(), 0, Config{}); err2 != err {
		t.Errorf("JoinComm: %v", err2)
	}
	if _, err2 := Start(context.Background(), Config{}); err == nil || err2 == nil || Built {
		t.Fatalf("Join and Start: %v, %v; built: %v", err, err2, Built)
	}
	if !strings.Contains(err.Error(), "go build -tags 'mpi openmpi'") {
		t.Errorf("Join does not say how to build the engine: %v", err)
	}
	t.Skip("the other tests need the engine: " + err.Error())
}
