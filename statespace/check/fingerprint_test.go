package check

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
)

// walk is a walk on a grid, with states of 128 bits.
func walk(size uint64) Model[[2]uint64] {
	return Model[[2]uint64]{Name: "walk", Init: make([][2]uint64, 1), Deadlocks: true,
		Next: func(s [2]uint64, emit func(string, [2]uint64)) {
			for i := range s {
				if n := s; n[i] < size {
					n[i]++
					emit("step", n)
				}
			}
		},
		Properties: []Property[[2]uint64]{
			Always("inside", func(s [2]uint64) bool { return s[0] <= size && s[1] <= size }),
			Sometimes("corner", func(s [2]uint64) bool { return s == [2]uint64{size, size} }),
			Sometimes("outside", func(s [2]uint64) bool { return s[0] > size }),
		}}
}

// By fingerprints what rests on all states having been seen is marked, and only that.
func TestFingerprintAnswers(t *testing.T) {
	f, opts, err := parse([]program{walk(99)}, []string{"--fingerprint"})
	if err != nil || opts.Encoding != explore.EncodingFingerprint || f.model == nil {
		t.Fatalf("%+v, %v", opts, err)
	}
	for _, encoding := range []explore.Encoding{"", opts.Encoding} {
		var r *Result[[2]uint64]
		err := local.Run(2, func(job rma.Job) error {
			mine, err := Run(context.Background(), job, walk(99), Options{Encoding: encoding})
			if job.Rank() == 0 {
				r = mine
			}
			return err
		})
		if err != nil || r.States != 10_000 {
			t.Fatalf("%+v, %v", r, err)
		}
		marked := encoding != ""
		report := r.Report()
		text, err := json.Marshal(newObject("walk", r))
		if err != nil {
			t.Fatal(err)
		}
		// 10,000 states were found and 19,800 arcs: 10^4*(10^4-1)/2^64.
		if marked != strings.Contains(report, "FINGERPRINTS of states were kept: one was missed "+
			"with a probability of 5.4e-12") ||
			marked != strings.Contains(string(text), `,"missedProbability":5.4`) {
			t.Errorf("%q: %s\n%s", encoding, report, text)
		}
		for i, v := range r.Properties {
			certain := !marked || i == 1
			line := fmt.Sprintf("%s: %v\n", v.Name, v.Verdict)
			if (v.Missed == 0) != certain || strings.Contains(report, line) != certain ||
				!certain && !strings.Contains(string(text),
					fmt.Sprintf(`{"name":%q,"answer":%v,"missedProbability":`, v.Name,
						v.Verdict == logic.True)) {
				t.Errorf("%q: %+v\n%s\n%s", encoding, v, report, text)
			}
		}
	}
}
