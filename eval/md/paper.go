package md

import "github.com/farhash/farhash/eval/internal/measure"

// printedCell is what a figure of MD is of.
type printedCell struct {
	mode     string
	keys     measure.LawName
	workload workload
	ranks    int
}

// printedMops are the throughputs that MD prints, million operations a second: Table 1, and 5.3
// in words.
var printedMops = map[printedCell]float64{
	{"md-coarse", measure.Uniform, writes, 640}:    0.67,
	{"md-fine", measure.Uniform, writes, 640}:      4.75,
	{"md-lock-free", measure.Uniform, writes, 640}: 13.9,
	{"md-coarse", measure.Zipf, writes, 640}:       0.01,
	{"md-fine", measure.Zipf, writes, 640}:         0.03,
	{"md-lock-free", measure.Zipf, writes, 640}:    14.3,

	{"md-lock-free", measure.Uniform, reads, 640}: 16.4,
	{"md-lock-free", measure.Zipf, reads, 640}:    16.2,

	{"md-lock-free", measure.Uniform, mixes, 640}: 16.2,
	{"md-lock-free", measure.Zipf, mixes, 640}:    16.4,
	{"md-fine", measure.Uniform, mixes, 640}:      4.7,
	{"md-coarse", measure.Uniform, mixes, 640}:    3.6,
	{"md-fine", measure.Zipf, mixes, 128}:         1.27,
	{"md-fine", measure.Zipf, mixes, 256}:         2.42,
	{"md-coarse", measure.Zipf, mixes, 128}:       0.51,
	{"md-coarse", measure.Zipf, mixes, 256}:       0.17,
}

// printedFailed is the percentage of reads that failed by MD Table 2: 0 unless ranks mix reads and
// writes of Zipf keys.
func printedFailed(cell printedCell) (percent float64, ok bool) {
	if cell.mode != "md-lock-free" || cell.workload == writes {
		return 0, false
	}
	of := map[int]float64{128: 1.1e-5, 256: 6.5e-6, 384: 6.8e-6, 512: 6.3e-6, 640: 1.1e-5}
	percent, ok = of[cell.ranks]
	if cell.workload != mixes || cell.keys != measure.Zipf {
		percent = 0
	}
	return percent, ok
}

// printedSeconds are the times of POET that MD 5.4 has in words, and printedGain those of MD Table
// 3: the part of the time that the lock-free table saves, in percent.
var (
	printedSeconds = map[string]map[int]float64{noTable: {128: 603, 640: 491},
		"md-lock-free": {128: 350}}
	printedGain = map[int]float64{128: 41.9, 256: 29.5, 384: 23.3, 512: 10.1, 640: 14.1}
)
