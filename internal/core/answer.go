package core

import (
	"errors"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// kindPing is a request that is answered with what it holds.
const kindPing = 1<<32 - 1

// The first word of an answer.
const (
	statusDone = iota
	statusFailed
	statusLost // the owner met a rank that is gone: its number, and 1 if it has left
)

// header is the first word of a request.
func header(kind uint32, n int) uint64 { return uint64(kind)<<32 | uint64(uint32(n)) }

// respond answers a request.
func respond(answer Answerer, request, to []uint64) (words int) {
	if len(to) == 0 {
		return 0 // which is no answer
	}
	kind, n := uint32(request[0]>>32), int(uint32(request[0]))
	to[0] = statusDone
	if kind == kindPing {
		return 1 + copy(to[1:], request[1:])
	}
	words, err := answer(kind, n, request[1:], to[1:])
	var gone *rma.RankError
	if errors.As(err, &gone) && len(to) > 2 {
		to[0], to[1], to[2] = statusLost, uint64(gone.Rank), 0
		if gone.Left {
			to[2] = 1
		}
		return 3
	}
	if err != nil {
		to[0] = statusFailed
		return 1 + packText(to[1:], err.Error())
	}
	return 1 + words
}

// packText packs a text, cut where it does not fit.
func packText(to []uint64, text string) (words int) {
	if len(to) == 0 {
		return 0
	}
	n := copy(BytesOf(to[1:]), text)
	to[0] = uint64(n)
	return 1 + WordsOf(n)
}

// unpackText is what packText has packed.
func unpackText(from []uint64) string {
	if len(from) == 0 {
		return ""
	}
	text := BytesOf(from[1:])
	return string(text[:min(from[0], uint64(len(text)))])
}

// check takes the status off an answer.
func check(rank int, answer rma.Buf) (rma.Buf, error) {
	if len(answer) == 0 {
		return nil, fmt.Errorf("ship: rank %d has sent an empty answer; run the same program on "+
			"every rank", rank)
	}
	if answer[0] == statusLost && len(answer) == 3 {
		return nil, fmt.Errorf("rank %d: %w", rank, &rma.RankError{Rank: int(answer[1]),
			Left: answer[2] == 1})
	}
	if answer[0] != statusDone {
		return nil, &rma.RemoteError{Rank: rank, Text: unpackText(answer[1:])}
	}
	return answer[1:], nil
}
