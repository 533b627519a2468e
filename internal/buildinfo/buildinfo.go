package buildinfo

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Version returns the version of vtscope as the build knows it, or "(devel)".
var Version = sync.OnceValue(func() string {
	const module, unknown = "github.com/vtscope/vtscope", "(devel)"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == module && m.Version != "" {
			return m.Version
		}
	}
	return unknown
})

// Line tells the version of a command, the commit if it was built from a checkout, and for which system.
func Line(command string) string {
	info, _ := debug.ReadBuildInfo()
	return line(command, Version(), info)
}

func line(command, version string, info *debug.BuildInfo) string {
	parts := []string{command + " " + version}
	if info != nil {
		set := map[string]string{}
		for _, s := range info.Settings {
			set[s.Key] = s.Value
		}
		if commit := set["vcs.revision"]; commit != "" {
			parts = append(parts, "commit "+commit[:min(len(commit), 12)])
			if set["vcs.modified"] == "true" {
				parts[1] += " with changes"
			}
		}
	}
	return strings.Join(append(parts, runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH), ", ")
}
