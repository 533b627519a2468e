package otel

// An AttributeInfo is a row of the table of attributes.
type AttributeInfo struct {
	Key  string
	Of   string // what has it: of scope, thread, wait (a park or a pin), log, separated by a comma and a space
	Type string // string, int, double or bool
	// About is one sentence, no full stop.
	About string
}

// The attributes beside those of the resource.
type attribute uint8

const (
	attrThreadID attribute = iota
	attrThreadName
	attrFunction
	attrFile
	attrLine
	attrStack
	attrKind
	attrKept
	attrUnfinished
	attrScopeID
	attrScopeName
	attrScopePolicy
	attrScopeLimit
	attrScopeDeadline
	attrScopeThreads
	attrScopeFailed
	attrScopePinned
	attrScopeUntold
	attrThreadEnd
	attrThreadCreator
	attrThreadMounts
	attrThreadParks
	attrThreadPins
	attrThreadRunning
	attrThreadReady
	attrThreadWaiting
	attrThreadPinned
	attrThreadIncomplete
	attrReason
	attrDuration
	attrBlocker
	attrWaker
	attrVictims
	attrFindingCheck
	attrFindingKey
	attrFindingCount
	attrFindingValue
	attrFindingThreshold
	attrFindingUnit
	attrFindingPage
	attrTriggerRule
	attrTriggerBundle
	attrEvidence

	attributeCount
)

// Attributes are all that spans, their events and log records may have, as docs/opentelemetry.md lists them. Names without "vt." are of the semantic conventions.
var Attributes = [attributeCount]AttributeInfo{
	attrThreadID:         {"thread.id", "scope, thread, wait", "int", "the thread; of a scope its owner, if that is a thread"},
	attrThreadName:       {"thread.name", "scope, thread, wait", "string", "its name, if it has one"},
	attrFunction:         {"code.function.name", "thread, wait, log", "string", "of a thread the function it executes, of a wait where it waits, of a finding where it is"},
	attrFile:             {"code.file.path", "thread, wait, log", "string", "the file of that"},
	attrLine:             {"code.line.number", "thread, wait, log", "int", "the line of that"},
	attrStack:            {"code.stacktrace", "wait", "string", "the stack, innermost first"},
	attrKind:             {"vt.kind", "scope, thread, wait", "string", "scope, thread, park, pinned or monopolized"},
	attrKept:             {"vt.kept", "scope, thread", "string", "why it was kept: sampled, slow, pinned, failed or inner, separated by commas"},
	attrUnfinished:       {"vt.unfinished", "scope, thread", "bool", "the process was gone before it ended"},
	attrScopeID:          {"vt.scope.id", "scope, thread", "int", "the scope, of a thread that which it was forked in"},
	attrScopeName:        {"vt.scope.name", "scope, thread, log", "string", "the name of that; of a finding the names of scopes from the outermost on, with / between"},
	attrScopePolicy:      {"vt.scope.policy", "scope", "string", "the type of its policy, if that is known"},
	attrScopeLimit:       {"vt.scope.limit", "scope", "int", "how many of its threads execute at a time, if that is known"},
	attrScopeDeadline:    {"vt.scope.deadline", "scope", "double", "its deadline, in seconds after it was opened"},
	attrScopeThreads:     {"vt.scope.threads", "scope", "int", "threads that have ended in it"},
	attrScopeFailed:      {"vt.scope.threads.failed", "scope", "int", "of these, those that have panicked or called Goexit"},
	attrScopePinned:      {"vt.scope.threads.pinned", "scope", "int", "of these, those that were pinned"},
	attrScopeUntold:      {"vt.scope.threads.untold", "scope", "int", "of these, those that have no span"},
	attrThreadEnd:        {"vt.thread.end", "thread", "string", "how it ended: end, panic or goexit"},
	attrThreadCreator:    {"vt.thread.creator", "thread", "int", "the thread that started it"},
	attrThreadMounts:     {"vt.thread.mounts", "thread", "int", "how often it was mounted"},
	attrThreadParks:      {"vt.thread.parks", "thread", "int", "how often it was parked"},
	attrThreadPins:       {"vt.thread.pins", "thread", "int", "how often it was pinned"},
	attrThreadRunning:    {"vt.thread.running", "thread", "double", "seconds on a carrier"},
	attrThreadReady:      {"vt.thread.ready", "thread", "double", "seconds it was runnable and waited for a carrier"},
	attrThreadWaiting:    {"vt.thread.waiting", "thread", "double", "seconds it was parked"},
	attrThreadPinned:     {"vt.thread.pinned", "thread", "double", "seconds it was pinned, which are part of running"},
	attrThreadIncomplete: {"vt.thread.incomplete", "thread", "bool", "events of it are missing: it may have begun before, and the figures may be too small"},
	attrReason:           {"vt.reason", "wait", "string", "why it waits"},
	attrDuration:         {"vt.duration", "wait", "double", "how long, in seconds"},
	attrBlocker:          {"vt.blocker", "wait", "string", "what it waits for"},
	attrWaker:            {"vt.waker", "wait", "int", "the thread that woke it"},
	attrVictims:          {"vt.victims", "wait", "int", "threads that were queued meanwhile, of a pin"},
	attrFindingCheck:     {"vt.finding.check", "log", "string", "the check that has found it"},
	attrFindingKey:       {"vt.finding.key", "log", "string", "the same for the same finding, from one time to the next and in other processes"},
	attrFindingCount:     {"vt.finding.count", "log", "int", "how many threads or scopes"},
	attrFindingValue:     {"vt.finding.value", "log", "int", "what was measured"},
	attrFindingThreshold: {"vt.finding.threshold", "log", "int", "from which value on it is a finding"},
	attrFindingUnit:      {"vt.finding.unit", "log", "string", "the unit of both"},
	attrFindingPage:      {"vt.finding.page", "log", "string", "the page that explains it"},
	attrTriggerRule:      {"vt.trigger.rule", "log", "string", "the rule that has come true"},
	attrTriggerBundle:    {"vt.trigger.bundle", "log", "string", "the bundle that was taken, if one was"},
	attrEvidence:         {"vt.evidence", "log", "string", "what else is known, a line each"},
}
