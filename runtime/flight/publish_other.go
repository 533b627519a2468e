//go:build !amd64

package flight

import "sync/atomic"

// Elsewhere stores may become visible in another order than the program's. Go's atomic stores are
// releases, each ordered after all stores before it, so a run of them stays in order; a plain store
// after an atomic one could still pass it, hence every word goes through here.

func put32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }
func put64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

// beginWrite makes the version odd and returns the even one that [endWrite] stores.
func beginWrite(ver *uint32) uint32 {
	v := *ver
	atomic.StoreUint32(ver, v|1)
	return (v | 1) + 1
}

func endWrite(ver *uint32, v uint32) { atomic.StoreUint32(ver, v) }

func get64(p *uint64) uint64 { return atomic.LoadUint64(p) }
