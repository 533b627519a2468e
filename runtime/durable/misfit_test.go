package durable_test

import (
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
)

func TestCodeThatDoesNotFitTriesLaterAndLater(t *testing.T) {
	at := time.Date(2026, 11, 22, 21, 0, 0, 0, time.UTC)
	var all []durable.Misfit
	for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
		all = durable.AddMisfit(all, durable.Misfit{Code: "a", At: at})
		if len(all) != 1 || all[0].Times != i+1 || all[0].Again().Sub(at) != want {
			t.Errorf("%d times: got %+v, again after %v, want %v", i+1, all, all[0].Again().Sub(at), want)
		}
	}
	all = durable.AddMisfit(all, durable.Misfit{Code: "b", At: at})
	if all = durable.AddMisfit(all, durable.Misfit{Code: "a", At: at}); len(all) != 2 || all[0].Code != "b" || all[1].Code != "a" || all[1].Times != 9 {
		t.Errorf("got %+v", all)
	}
	for c := range 100 {
		all = durable.AddMisfit(all, durable.Misfit{Code: string(rune('A' + c)), At: at})
	}
	if len(all) > 10 || all[len(all)-1].Code != string(rune('A'+99)) {
		t.Errorf("%d are remembered, the last %+v", len(all), all[len(all)-1])
	}
	if got := (&durable.Misfit{At: at, Times: 1 << 40}).Again(); got.Sub(at) != time.Hour {
		t.Errorf("got %v", got)
	}
}
