package delve

import (
	"os"
	"testing"
)

// tools is a folder for all tests.
var tools string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if tools, err = os.MkdirTemp("", "vtdelve-tools-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(tools)
		return m.Run()
	}())
}
