package explore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/packing"
)

// BenchmarkExplore explores nets whose figures other tools have published, each from the first
// state to the last: 13 philosophers (1,594,323 states) and Kanban-5 (24,460,016 arcs).
func BenchmarkExplore(b *testing.B) {
	for _, net := range []struct {
		family string
		size   int
	}{{"philosophers", 13}, {"kanban", 5}} {
		for _, encoding := range encodings {
			for _, ranks := range []int{1, 2} {
				name := fmt.Sprintf("%s%d/%s/ranks=%d", net.family, net.size, encoding, ranks)
				b.Run(name, func(b *testing.B) {
					benchmarkNet(b, net.family, net.size, ranks, encoding)
				})
			}
		}
	}
}

func benchmarkNet(b *testing.B, family string, size, ranks int, encoding explore.Encoding) {
	net, err := petri.Family(family, size)
	if err != nil {
		b.Fatal(err)
	}
	var last *explore.Result
	for b.Loop() {
		err := local.Run(ranks, func(job rma.Job) error {
			res, _, err := packing.NewSearch(net).Run(context.Background(), job,
				explore.Options{Encoding: encoding})
			if job.Rank() == 0 {
				last = res
			}
			return err
		})
		if err != nil || !last.Complete {
			b.Fatal("not complete: ", err)
		}
	}
	perSecond := float64(b.N) / b.Elapsed().Seconds() / 1e6
	b.ReportMetric(float64(last.States)*perSecond, "Mstates/s")
	b.ReportMetric(float64(last.Arcs)*perSecond, "Marcs/s")
	b.ReportMetric(last.StateBytes(), "bytes/state")
}
