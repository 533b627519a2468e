package main

import (
	"github.com/vtscope/vtscope/dump/locals"
)

// adapt notes a flag of dap, which vtdelve reads.
func (s *settings) adapt(name, value string) error {
	if value == "" {
		value = "true" // --only-same-user
	}
	s.adapter = append(s.adapter, "--"+name+"="+value)
	return nil
}

// debug has vtdelve, which has Delve, be the debug adapter in the place of vtdump.
func (s *settings) debug(w world) error {
	if s.targeted {
		return usageError{"dap takes no target: the editor tells what to debug", "vtdump dap --listen 127.0.0.1:0"}
	}
	path, err := locals.Path()
	if err != nil {
		return hint{err, locals.Build}
	}
	return w.replace(path, append([]string{path, "dap"}, s.adapter...))
}
