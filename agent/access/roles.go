package access

import (
	"context"
	"fmt"
	"net/http"
)

// A Role is what somebody may do. Each may do what those before it may.
type Role uint8

// The roles.
const (
	None    Role = iota // nothing: nobody is known
	Read                // look: pages, snapshots, frames, profiles, metrics
	Operate             // change or cost something: settings, recordings, incidents, dumps with a pause, profiles that a process takes of itself
	roleCount
)

var roleNames = [roleCount]string{"none", "read", "operate"}

func (r Role) String() string {
	if r < roleCount {
		return roleNames[r]
	}
	return fmt.Sprintf("role %d", uint8(r))
}

// ParseRole returns the role of that name: read or operate.
func ParseRole(name string) (Role, error) {
	for r := Read; r < roleCount; r++ {
		if roleNames[r] == name {
			return r, nil
		}
	}
	return None, fmt.Errorf("no role %q: want read or operate", clean(name, 20))
}

// May reports whether who has the role may do what needs another one.
func (r Role) May(need Role) bool { return need != None && r < roleCount && r >= need }

// A Caller is who asks.
type Caller struct {
	Name string // of the token or certificate, "local" or "uid N": safe to print
	Role Role
	Peer string // the address that the request came from: safe to print
}

type callerKey struct{}

// CallerOf returns who asks, for handlers behind [Policy.Handler]: nobody without that.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// NeedByMethod is the role that a request needs of which nothing but its method is known.
func NeedByMethod(r *http.Request) Role {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return Read
	}
	return Operate
}
