package main

import (
	"context"
	"io"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/tracing/perfetto"
)

func exportPerfetto(ctx context.Context, src recording.Source, w io.Writer, _ exportOptions) (exported, error) {
	stats, err := perfetto.Write(ctx, w, src, perfetto.Options{})
	return exported{
		what:    []string{dump.Count(stats.Events, "event"), dump.Count(uint64(stats.Carriers), "carrier"), dump.Count(uint64(stats.ScopeTracks), "scope track")},
		leftOut: append(stats.LeftOut(), src.Info().Incomplete...),
	}, err
}
