package vnet

import (
	"context"
	"net"
	"net/netip"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Resolver is a [net.Resolver] for threads: a thread that looks a name up parks, with the reason lookup, and a helper goroutine makes the call. The zero value
// uses [net.DefaultResolver]. An interrupt ends the wait with an error that matches [sched.ErrInterrupted], and leaves the interrupt status set.
type Resolver struct {
	*net.Resolver
}

func (r Resolver) inner() *net.Resolver {
	if r.Resolver == nil {
		return net.DefaultResolver
	}
	return r.Resolver
}

func lookup[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	return outside(ctx, flight.ReasonLookup, call, nil)
}

// LookupAddr is [net.Resolver.LookupAddr].
func (r Resolver) LookupAddr(ctx context.Context, addr string) ([]string, error) {
	return lookup(ctx, func(ctx context.Context) ([]string, error) { return r.inner().LookupAddr(ctx, addr) })
}

// LookupCNAME is [net.Resolver.LookupCNAME].
func (r Resolver) LookupCNAME(ctx context.Context, host string) (string, error) {
	return lookup(ctx, func(ctx context.Context) (string, error) { return r.inner().LookupCNAME(ctx, host) })
}

// LookupHost is [net.Resolver.LookupHost].
func (r Resolver) LookupHost(ctx context.Context, host string) ([]string, error) {
	return lookup(ctx, func(ctx context.Context) ([]string, error) { return r.inner().LookupHost(ctx, host) })
}

// LookupIP is [net.Resolver.LookupIP].
func (r Resolver) LookupIP(ctx context.Context, network, host string) ([]net.IP, error) {
	return lookup(ctx, func(ctx context.Context) ([]net.IP, error) { return r.inner().LookupIP(ctx, network, host) })
}

// LookupIPAddr is [net.Resolver.LookupIPAddr].
func (r Resolver) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	return lookup(ctx, func(ctx context.Context) ([]net.IPAddr, error) { return r.inner().LookupIPAddr(ctx, host) })
}

// LookupNetIP is [net.Resolver.LookupNetIP].
func (r Resolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return lookup(ctx, func(ctx context.Context) ([]netip.Addr, error) { return r.inner().LookupNetIP(ctx, network, host) })
}

// LookupMX is [net.Resolver.LookupMX].
func (r Resolver) LookupMX(ctx context.Context, name string) ([]*net.MX, error) {
	return lookup(ctx, func(ctx context.Context) ([]*net.MX, error) { return r.inner().LookupMX(ctx, name) })
}

// LookupNS is [net.Resolver.LookupNS].
func (r Resolver) LookupNS(ctx context.Context, name string) ([]*net.NS, error) {
	return lookup(ctx, func(ctx context.Context) ([]*net.NS, error) { return r.inner().LookupNS(ctx, name) })
}

// LookupPort is [net.Resolver.LookupPort].
func (r Resolver) LookupPort(ctx context.Context, network, service string) (int, error) {
	return lookup(ctx, func(ctx context.Context) (int, error) { return r.inner().LookupPort(ctx, network, service) })
}

// LookupSRV is [net.Resolver.LookupSRV].
func (r Resolver) LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error) {
	type found struct {
		cname string
		all   []*net.SRV
	}
	f, err := lookup(ctx, func(ctx context.Context) (found, error) {
		cname, all, err := r.inner().LookupSRV(ctx, service, proto, name)
		return found{cname, all}, err
	})
	return f.cname, f.all, err
}

// LookupTXT is [net.Resolver.LookupTXT].
func (r Resolver) LookupTXT(ctx context.Context, name string) ([]string, error) {
	return lookup(ctx, func(ctx context.Context) ([]string, error) { return r.inner().LookupTXT(ctx, name) })
}
