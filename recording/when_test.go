package recording_test

import (
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
)

func TestUnixMillisecondsAreAMomentAndSmallNumbersAreNot(t *testing.T) {
	at := time.Date(2026, 11, 22, 15, 4, 5, 678e6, time.UTC)
	for text, want := range map[string]bool{"1795359845678": true, "12": false, "99999999999": false, "12s": false, "-1795359845678": false, "": false, "1795359845678000000": false} {
		got, ok := recording.UnixMilli(text)
		if ok != want || ok && !got.Equal(at) {
			t.Errorf("%q: %v, %v; want %v, and %v", text, got, ok, want, at)
		}
	}
}
