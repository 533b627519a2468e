package durable

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// A Misfit is code that has not fitted the journal of a thread of a tree: it diverged, panicked, or called runtime.Goexit. The tree was released, for other code.
type Misfit struct {
	Code   string    `json:"code"`   // as [KeeperOptions.Code]
	Thread string    `json:"thread"` // the one that diverged
	What   string    `json:"what"`   // for people
	At     time.Time `json:"at"`     // the last time
	Times  int       `json:"times"`
}

// What has not fitted is tried again by the same code: what a body asked without a step may come out better. First after misfitFirst, then after twice that, and so on.
const (
	misfitFirst = time.Minute
	misfitLast  = time.Hour
	maxMisfits  = 8 // that are remembered of a tree
)

// Again returns when the same code may try again.
func (m *Misfit) Again() time.Time {
	return m.At.Add(min(misfitLast, misfitFirst<<min(max(m.Times, 1)-1, 16)))
}

// Fits returns when code may take a tree for the threads of it that have diverged; zero: at once.
func Fits(all []Misfit, code string) time.Time {
	for i := range all {
		if all[i].Code == code {
			return all[i].Again()
		}
	}
	return time.Time{}
}

// AddMisfit returns misfits with one more, the newest last; one of the same code is replaced, and the times are counted. The oldest are forgotten.
func AddMisfit(all []Misfit, m Misfit) []Misfit {
	m.Times = 1
	all = slices.Clone(all)
	if i := slices.IndexFunc(all, func(o Misfit) bool { return o.Code == m.Code }); i >= 0 {
		m.Times += all[i].Times
		all = slices.Delete(all, i, i+1)
	}
	all = append(all, m)
	return all[max(0, len(all)-maxMisfits):]
}

// Code is that of [Host].
func (h host) Code() string { return h.k.code() }

func (k *Keeper) code() string { return cmp.Or(k.options.Code, ownCode()) }

// ownCode tells executables apart. One that cannot be read is like no other.
var ownCode = sync.OnceValue(func() string {
	sum := sha256.New()
	path, err := os.Executable()
	if runtime.GOOS == "linux" {
		path, err = "/proc/self/exe", nil // the one that runs, also if there is another one at its path by now
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if err == nil {
		_, err = io.Copy(sum, f)
		f.Close()
	}
	if err != nil {
		return rand.Text()
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
})

// misfitsLocked returns why a thread that has ended here goes on elsewhere, with other code; "" if that is not why.
func (t *Thread) misfitsLocked() string {
	if t.mu.state != Done || !t.passing {
		return ""
	}
	var d *Divergence
	var p *vthread.Panic
	switch {
	case errors.As(t.mu.err, &d):
		return fmt.Sprintf("step %d: the journal has %s, the body does %s", d.At, d.Want, d.Got)
	case errors.As(t.mu.err, &p):
		return fmt.Sprintf("panic: %v", p.Value)
	case t.mu.err == ErrGoexit:
		return ErrGoexit.Error()
	}
	return "" // it has lost its store, or its store has not taken a step
}

// misfitLocked tells of a thread that is one, else it returns nil.
func (t *Thread) misfitLocked() *Misfit {
	what := t.misfitsLocked()
	if what == "" {
		return nil
	}
	const enough = 300
	if len(what) > enough {
		what = strings.ToValidUTF8(what[:enough], "") + "…"
	}
	return &Misfit{Code: t.builder.keeper.code(), Thread: t.id, What: what, At: t.mu.endedAt}
}

// misfit returns one of a thread and its children; nil if there is none.
func (t *Thread) misfit() *Misfit {
	t.mu.Lock()
	m := t.misfitLocked()
	children := t.childrenLocked()
	t.mu.Unlock()
	for _, c := range children {
		if m == nil {
			m = c.misfit()
		}
	}
	return m
}
