package agent

import (
	"fmt"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// A meter measures what the agent's process uses, and keeps it below the limits.
type meter struct {
	sent       atomic.Uint64 // bytes to all clients
	lostFrames atomic.Uint64 // that slow clients did not get
	lostEvents atomic.Uint64 // that observers were not told
	clients    atomic.Int64  // websockets
	past       atomic.Int64  // bytes of the moments that are kept; stored by the keepers

	maxCPU    float64 // 0: none; as maxMemory, set before the first read
	maxMemory uint64  // 0: none
	thrift    thrift

	processCPU func() (time.Duration, bool) // tests have others; called with the lock, as memory
	memory     func() uint64

	mu struct {
		sync.Mutex
		at   time.Time
		cpu  time.Duration
		sent uint64
		cost Cost // but for what is counted in atomics

		told  Cost   // the cost as it was after the last reading: what frames carry
		tells uint64 // counts those
	}
}

func newMeter() *meter {
	m := &meter{processCPU: processCPU, memory: memory}
	m.thrift.init()
	m.mu.at = time.Now()
	m.mu.cpu, _ = m.processCPU()
	m.mu.cost.Memory = m.memory()
	m.mu.told = m.costLocked()
	return m
}

// read renews the cost, and takes a step if it is over a limit or far below both. One goroutine calls it, once an interval.
func (m *meter) read() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	cpu, known := m.processCPU()
	sent := m.sent.Load()
	memory := m.memory()
	d := now.Sub(m.mu.at)
	if d <= 0 {
		return
	}
	m.mu.cost = Cost{CPU: -1, Memory: memory, Bytes: float64(int64(float64(sent-m.mu.sent) / d.Seconds()))}
	if known {
		m.mu.cost.CPU = float64(int64(1e4*float64(cpu-m.mu.cpu)/float64(d)+0.5)) / 1e4
	}
	m.mu.at, m.mu.cpu, m.mu.sent = now, cpu, sent
	m.thrift.judge(m.overLocked(1, 1), m.overLocked(roomCPU, roomMemory) == "")
	m.mu.told, m.mu.tells = m.costLocked(), m.mu.tells+1
}

// overLocked says which limit is exceeded, or which part of it; "" if none.
func (m *meter) overLocked(partCPU, partMemory float64) string {
	c := &m.mu.cost
	switch {
	case m.maxCPU > 0 && c.CPU > partCPU*m.maxCPU:
		return fmt.Sprintf("it used %.2f of a processor, more than %.2f", c.CPU, m.maxCPU)
	case m.maxMemory > 0 && float64(c.Memory) > partMemory*float64(m.maxMemory):
		return fmt.Sprintf("it held %d MB of memory, more than %d", c.Memory>>20, m.maxMemory>>20)
	}
	return ""
}

// cost is the cost after the last reading, and how many readings there were.
func (m *meter) cost() (Cost, uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.told, m.mu.tells
}

func (m *meter) costLocked() Cost {
	c := m.mu.cost
	c.MaxCPU, c.MaxMemory = m.maxCPU, m.maxMemory
	c.Clients, c.LostFrames, c.LostEvents = int(m.clients.Load()), m.lostFrames.Load(), m.lostEvents.Load()
	c.Past = uint64(max(m.past.Load(), 0))
	c.Step, c.Note = m.thrift.now()
	c.Unread = steps[c.Step].noSurvey
	return c
}

// Cost is what the process that the agent is in uses, what the agent does without because of it, and what was lost. It may be called at any time, also after [Agent.Close].
func (a *Agent) Cost() Cost {
	a.meter.mu.Lock()
	defer a.meter.mu.Unlock()
	return a.meter.costLocked()
}

// memory returns what Go obtained from the system and has not given back. It does not stop the world.
func memory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	if samples[0].Value.Kind() != metrics.KindUint64 || samples[1].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
