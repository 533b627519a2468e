package flight

// A Figure is a number that a scheduler tells about itself. The table [Figures] is the only list of them: record, text, JSON, page and docs
// derive from it.
type Figure uint8

// The figures. Values are part of the flight format: append, never renumber.
const (
	FigureParallelism Figure = iota
	FigureMinCarriers
	FigureMaxCarriers
	FigureCarriers
	FigureRunning
	FigureIdle
	FigureHeld
	FigureSpare
	FigureMounted
	FigureQueued
	FigureParked
	FigureTimers
	FigureStarving
	FigureStarts
	FigureEnds
	FigureSubmissions
	FigureRejections
	FigureSwitches
	FigureHandOffs
	FigureSteals
	FigureCompensations
	FigurePins
	FigurePinnedTime
	FigureVictims
	FigureMonopolies
	FigureMonopolizedTime
	FigureAlarms
	FigureCalls

	FigureCount
)

// A FigureInfo is a row of the table of figures.
type FigureInfo struct {
	Name  string   // lower-case words joined by "-"
	About string   // what it counts, no full stop
	Total bool     // it only grows: everything so far. Else it is how it is now
	Unit  FieldUse // [FieldCount] or [FieldDuration]
}

// Figures describes every figure, indexed by [Figure].
var Figures = [FigureCount]FigureInfo{
	FigureParallelism:     {Name: "parallelism", About: "carriers that execute threads at a time", Unit: FieldCount},
	FigureMinCarriers:     {Name: "min-carriers", About: "carriers that stay when there is nothing to do", Unit: FieldCount},
	FigureMaxCarriers:     {Name: "max-carriers", About: "the most carriers that there may be; by default those are not counted whose thread blocks in Go and holds no OS thread", Unit: FieldCount},
	FigureCarriers:        {Name: "carriers", About: "carriers that there are", Unit: FieldCount},
	FigureRunning:         {Name: "running", About: "carriers that execute a thread which does not block, or look for one", Unit: FieldCount},
	FigureIdle:            {Name: "idle", About: "carriers that sleep", Unit: FieldCount},
	FigureHeld:            {Name: "held", About: "carriers whose thread blocks", Unit: FieldCount},
	FigureSpare:           {Name: "spare", About: "carriers beyond the parallelism, which stand in for those that are held", Unit: FieldCount},
	FigureMounted:         {Name: "mounted", About: "threads that are mounted on a carrier", Unit: FieldCount},
	FigureQueued:          {Name: "queued", About: "threads that wait for a carrier", Unit: FieldCount},
	FigureParked:          {Name: "parked", About: "threads that wait for something else", Unit: FieldCount},
	FigureTimers:          {Name: "timers", About: "threads of the process that sleep or park for a time", Unit: FieldCount},
	FigureStarving:        {Name: "starving", About: "for how long queued threads have found no free carrier", Unit: FieldDuration},
	FigureStarts:          {Name: "starts", About: "threads that were started", Total: true, Unit: FieldCount},
	FigureEnds:            {Name: "ends", About: "threads that have ended", Total: true, Unit: FieldCount},
	FigureSubmissions:     {Name: "submissions", About: "runnable threads that the scheduler was handed", Total: true, Unit: FieldCount},
	FigureRejections:      {Name: "rejections", About: "runnable threads that it refused", Total: true, Unit: FieldCount},
	FigureSwitches:        {Name: "switches", About: "mounts of threads", Total: true, Unit: FieldCount},
	FigureHandOffs:        {Name: "hand-offs", About: "threads that followed on the carrier of the thread which woke them", Total: true, Unit: FieldCount},
	FigureSteals:          {Name: "steals", About: "times that a carrier took from another one's queue", Total: true, Unit: FieldCount},
	FigureCompensations:   {Name: "compensations", About: "carriers that were added because others were held", Total: true, Unit: FieldCount},
	FigurePins:            {Name: "pins", About: "times that a thread blocked and held its carrier", Total: true, Unit: FieldCount},
	FigurePinnedTime:      {Name: "pinned-time", About: "how long those took together", Total: true, Unit: FieldDuration},
	FigureVictims:         {Name: "victims", About: "threads that waited for a carrier while others were held", Total: true, Unit: FieldCount},
	FigureMonopolies:      {Name: "monopolies", About: "times that a thread computed for long without a scheduling point", Total: true, Unit: FieldCount},
	FigureMonopolizedTime: {Name: "monopolized-time", About: "how long those took together", Total: true, Unit: FieldDuration},
	FigureAlarms:          {Name: "alarms", About: "times that queued threads found no free carrier for long", Total: true, Unit: FieldCount},
	FigureCalls:           {Name: "calls", About: "carriers whose thread is in a system call or a call of C, and so holds an OS thread", Unit: FieldCount},
}

// String returns the figure's name.
func (f Figure) String() string {
	if f < FigureCount {
		return Figures[f].Name
	}
	return "unknown"
}
