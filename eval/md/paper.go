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
	{"coarse", measure.Uniform, writes, 640}:    0.67,
	{"fine", measure.Uniform, writes, 640}:      4.75,
	{"lock-free", measure.Uniform, writes, 640}: 13.9,
	{"coarse", measure.Zipf, writes, 640}:       0.01,
	{"fine", measure.Zipf, writes, 640}:         0.03,
	{"lock-free", measure.Zipf, writes, 640}:    14.3,

	{"lock-free", measure.Uniform, reads, 640}: 16.4,
	{"lock-free", measure.Zipf, reads, 640}:    16.2,

	{"lock-free", measure.Uniform, mixes, 640}: 16.2,
	{"lock-free", measure.Zipf, mixes, 640}:    16.4,
	{"fine", measure.Uniform, mixes, 640}:      4.7,
	{"coarse", measure.Uniform, mixes, 640}:    3.6,
	{"fine", measure.Zipf, mixes, 128}:         1.27,
	{"fine", measure.Zipf, mixes, 256}:         2.42,
	{"coarse", measure.Zipf, mixes, 128}:       0.51,
	{"coarse", measure.Zipf, mixes, 256}:       0.17,
}

// printedMismatches are percentages of MD Table 2. All others are 0.
var printedMismatches = map[printedCell]float64{
	{"lock-free", measure.Zipf, mixes, 128}: 1.1e-5,
	{"lock-free", measure.Zipf, mixes, 256}: 6.5e-6,
	{"lock-free", measure.Zipf, mixes, 384}: 6.8e-6,
	{"lock-free", measure.Zipf, mixes, 512}: 6.3e-6,
	{"lock-free", measure.Zipf, mixes, 640}: 1.1e-5,
}
