package recording

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// clockForms are how a clock time may be written, beside RFC 3339. The date is that of the beginning of the recording, or the day after.
var clockForms = []string{"15:04:05.999999999", "15:04"}

// When returns the time since Info().From that a text says: an offset such as 12s, one from the end such as -3s, a clock time, in the time zone of the caller, or Unix milliseconds, as addresses of the page have them; "" is the end. Whether the
// recording has that moment [File.At] tells.
func (f *File) When(text string) (time.Duration, error) {
	info := f.Info()
	end := info.To.Sub(info.From)
	if text == "" {
		return end, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		if strings.HasPrefix(text, "-") {
			d += end
		}
		return d, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t.Sub(info.From), nil
	}
	if t, ok := UnixMilli(text); ok {
		return t.Sub(info.From), nil
	}
	from := info.From.Local()
	for _, form := range clockForms {
		t, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		t = time.Date(from.Year(), from.Month(), from.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.Local)
		if t.Before(from.Add(-time.Second)) {
			t = t.AddDate(0, 0, 1)
		}
		// The first moment, as it is printed, may be a little before the beginning.
		return max(t.Sub(from), 0), nil
	}
	return 0, fmt.Errorf("recording: %q is no moment: want 12s after the beginning, -3s before the end, or a time such as %s", text, from.Format("15:04:05"))
}

// UnixMilli returns the time of a text that is Unix milliseconds, and whether it is: of the time since 1973, so that no small number is taken for it.
func UnixMilli(text string) (time.Time, bool) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 1e11 || ms > 1e14 {
		return time.Time{}, false
	}
	return time.UnixMilli(ms), true
}
