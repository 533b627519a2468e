//go:build !unix

package flight

import "time"

func realtime() int64 { return time.Now().UnixNano() }
