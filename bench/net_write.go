package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
)

// WriteText writes a table of latencies and one of rates for each kind of traffic.
func (r *NetReport) WriteText(w io.Writer) error {
	m, is := &r.Machine, &r.Setting
	p := printer{w: w}
	p.printf("%s, %d cores, %s %s/%s\n%s\n", m.CPU, m.Cores, m.Go, m.OS, m.Arch, m.Command)
	p.printf("%d ranks, %d on each host, over %s; engine: %s", is.Ranks, is.PerHost, is.Link,
		is.Engine)
	if is.Library != "" {
		p.printf(", %s", is.Library)
	}
	if is.Redis != "" {
		p.printf("; Redis %s, a server for each rank", is.Redis)
	}
	p.printf("\nrandom words of 63 bits, %.0f%% of a batch new, the others there before; a table "+
		"of %s buckets, %s\n", 100*is.New, Count(m.Buckets), humanize.IBytes(m.TableBytes))
	p.printf("rates are thousands a second of all clients, medians of the runs\n")
	for _, note := range r.Notes {
		p.printf("note: %s\n", note)
	}
	if p.err != nil {
		return p.err
	}
	if err := r.writeSingles(w); err != nil {
		return err
	}
	for _, t := range NetTraffics() {
		if err := r.writeBatches(w, t); err != nil {
			return err
		}
	}
	return nil
}

// chosen are the results of a table.
func (r *NetReport) chosen(t NetTraffic, singles bool) (all []*NetResult) {
	for i := range r.Results {
		if is := &r.Results[i]; is.Traffic == t && (is.Batch == 1) == singles {
			all = append(all, is)
		}
	}
	return all
}

// writeSingles writes what one operation at a time takes.
func (r *NetReport) writeSingles(w io.Writer) error {
	all := r.chosen(NetOneWay, true)
	if len(all) == 0 {
		return nil
	}
	p := printer{w: w}
	p.printf("\nOne at a time, by one client on the first host: a get, or find-or-put of a word " +
		"that is there.\n/ raw and / engine are latencies beside those of a get of as many " +
		"bytes\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p.w = t
	p.printf("impl\tget bytes\tp50\tp99\tp99.9\tmax\truns\tp50 / raw\tp99 / raw\tp50 / engine\t" +
		"p99 / engine\t\n")
	for _, is := range all {
		p.printf("%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t\n", is.Impl, bytesText(is.GetBytes),
			is.Latencies.text(), is.Runs, ratioText(is.RatioP50), ratioText(is.RatioP99),
			ratioText(is.RatioP50Engine), ratioText(is.RatioP99Engine))
	}
	if p.err != nil {
		return p.err
	}
	return t.Flush()
}

// writeBatches writes rates.
func (r *NetReport) writeBatches(w io.Writer, traffic NetTraffic) error {
	all := r.chosen(traffic, false)
	if len(all) == 0 {
		return nil
	}
	p := printer{w: w}
	where := "on the first host work on memory of the others"
	if traffic == NetBothWays {
		where = "are all ranks, and work on memory of the other hosts"
	}
	p.printf("\n%d clients %s. A batch is that of one call; of gets it is\nhow many are in "+
		"flight. / raw and / engine are rates of messages, the others of operations\n\n",
		all[0].Clients, where)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p.w = t
	p.printf("impl\tbatch\tget bytes\tkop/s\tmin\tmax\truns\tmessages/op\tkmessages/s\t/ raw\t" +
		"/ engine\t/ one-sided\t/ Redis\t\n")
	for _, is := range all {
		p.printf("%s\t%d\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n", is.Impl, is.Batch,
			bytesText(is.GetBytes), rateText(is.Kops), rateText(is.KopsMin),
			rateText(is.KopsMax), is.Runs, messagesText(is.Messages), shortRatio(is.MessageKops),
			ratioText(is.RatioToRaw), ratioText(is.RatioToEngine), shortRatio(is.RatioToOneSided),
			shortRatio(is.RatioToRedis))
	}
	if p.err != nil {
		return p.err
	}
	return t.Flush()
}

// messagesText has three digits, also of few messages for many operations.
func messagesText(mean *float64) string {
	if mean == nil {
		return "-"
	}
	return fmt.Sprintf("%.3g", *mean)
}

func bytesText(bytes float64) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", bytes)
}

// WriteJSON writes one object with the keys machine, setting, results and notes.
func (r *NetReport) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteBenchfmt writes the samples in the format of Go benchmarks, for benchstat.
func (r *NetReport) WriteBenchfmt(w io.Writer) error {
	p := printer{w: w}
	p.benchHead(&r.Machine)
	for i := range r.Samples {
		s := &r.Samples[i]
		p.printf("BenchmarkNet/impl=%s/traffic=%s/batch=%d/bytes=%d/clients=%d-%d\t%d\t%.4g "+
			"ns/op\t%.5g kop/s\t%.5g kmessage/s\n", s.Impl, s.Traffic, s.Batch, s.Bytes,
			s.Clients, runtime.GOMAXPROCS(0), s.Operations, 1e6/s.Kops(), s.Kops(),
			s.MessageKops())
	}
	return p.err
}
