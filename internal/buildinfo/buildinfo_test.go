package buildinfo

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestALineTellsWhatTheBuildKnows(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	for _, row := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, "vtdump v0.1.0, go"},
		{&debug.BuildInfo{}, "vtdump v0.1.0, go"},
		{&debug.BuildInfo{Settings: []debug.BuildSetting{commit}}, "vtdump v0.1.0, commit 0123456789ab, go"},
		{&debug.BuildInfo{Settings: []debug.BuildSetting{commit, {Key: "vcs.modified", Value: "true"}}}, "vtdump v0.1.0, commit 0123456789ab with changes, go"},
	} {
		if got := line("vtdump", "v0.1.0", row.info); !strings.HasPrefix(got, row.want) {
			t.Errorf("got %q, want %q…", got, row.want)
		}
	}
	if got := Line("vtdump"); !strings.HasPrefix(got, "vtdump ") {
		t.Errorf("got %q", got)
	}
}
