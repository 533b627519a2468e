package perfetto

// Fields of Perfetto's messages (protos/perfetto/trace), as far as they are written here. perfettotest has the published ones in its own words, and
// tests decode with those.
const (
	tracePacket field = 1 // of Trace

	packetClocks     field = 6 // of TracePacket
	packetTime       field = 8
	packetSequence   field = 10
	packetEvent      field = 11
	packetInterned   field = 12
	packetFlags      field = 13
	packetDefaults   field = 59
	packetDescriptor field = 60
	packetFirst      field = 87

	flagCleared = 1 // of TracePacket.sequence_flags
	flagNeeds   = 2

	defaultsEvent field = 11 // of TracePacketDefaults
	defaultsClock field = 58

	clocksClock field = 1 // of ClockSnapshot
	clocksMain  field = 2

	clockID          field = 1 // of ClockSnapshot.Clock
	clockTime        field = 2
	clockIncremental field = 3

	clockRealtime = 1
	clockBoot     = 6
	clockDelta    = 64 // of a sequence: each time is the difference to the one before

	trackUUID     field = 1 // of TrackDescriptor
	trackName     field = 2
	trackProcess  field = 3
	trackParent   field = 5
	trackCounter  field = 8
	trackOrdering field = 11
	trackRank     field = 12

	orderedByRank = 3 // of TrackDescriptor.child_ordering

	processPID     field = 1 // of ProcessDescriptor
	processCommand field = 2
	processName    field = 6

	counterUnit field = 3 // of CounterDescriptor

	unitCount = 2

	eventCategory   field = 3 // of TrackEvent; those of references to interned data
	eventAnnotation field = 4
	eventType       field = 9
	eventName       field = 10
	eventTrack      field = 11
	eventCounter    field = 30
	eventFlow       field = 47
	eventFlowEnds   field = 48

	typeBegin   = 1
	typeEnd     = 2
	typeInstant = 3
	typeCounter = 4

	noteName   field = 1 // of DebugAnnotation
	noteBool   field = 2
	noteUint   field = 3
	noteInt    field = 4
	noteDouble field = 5
	noteText   field = 6
	noteShared field = 17 // a reference to an interned text

	internedID   field = 1 // of what is interned, of all four forms
	internedText field = 2
)
