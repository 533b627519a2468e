package agent

import (
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// A meter measures what the agent's process uses.
type meter struct {
	sent atomic.Uint64 // bytes to all clients

	mu struct {
		sync.Mutex
		at   time.Time
		cpu  time.Duration
		sent uint64
		cost Cost
	}
}

func newMeter() *meter {
	m := &meter{}
	m.mu.at = time.Now()
	m.mu.cpu, _ = processCPU()
	m.mu.cost.Memory = memory()
	return m
}

// read renews the cost. One goroutine calls it, once an interval.
func (m *meter) read() {
	now := time.Now()
	cpu, known := processCPU()
	sent := m.sent.Load()
	memory := memory()
	m.mu.Lock()
	defer m.mu.Unlock()
	d := now.Sub(m.mu.at)
	if d <= 0 {
		return
	}
	m.mu.cost = Cost{CPU: -1, Memory: memory, Bytes: float64(int64(float64(sent-m.mu.sent) / d.Seconds()))}
	if known {
		m.mu.cost.CPU = float64(int64(1e4*float64(cpu-m.mu.cpu)/float64(d)+0.5)) / 1e4
	}
	m.mu.at, m.mu.cpu, m.mu.sent = now, cpu, sent
}

func (m *meter) cost() Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.cost
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
