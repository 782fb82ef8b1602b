package main

import (
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

func TestMain(m *testing.M) { try.Main(m, newRoot, main) }
