package perfettotest

// A shape is how values of a field are encoded.
type shape uint8

const (
	number  shape = iota // a varint without sign: uint32, uint64, an enum
	signed               // a varint with sign: int32, int64
	boolean              // a varint, 0 or 1
	eight                // fixed64
	double               // fixed64 with the bits of a float64
	text                 // UTF-8
	raw                  // bytes
	message
)

// A fieldOf is what is known of a field. Those of a oneof have its name.
type fieldOf struct {
	name  string
	shape shape
	of    string // of a message: its type
	many  bool   // repeated
	oneof string
}

// schema has the messages of Perfetto's traces by name and number of field, as far as traces of TrackEvents need them. The numbers, names and types are those of
// the project's published protocol: github.com/google/perfetto, folder protos/perfetto, trace/trace_packet.proto of commit 02603952ce0c, track_event/track_event.proto
// of 005055c991ae, what these import, and the bindings that the project makes from it (contrib/rust-sdk, track_descriptor of cea052f55fbb, debug_annotation of
// 709e21c64df2). Fields that are not here are refused, so that no other number is written by mistake.
var schema = map[string]map[uint64]fieldOf{
	"Trace": {
		1: {name: "packet", shape: message, of: "TracePacket", many: true},
	},
	"TracePacket": {
		6:  {name: "clock_snapshot", shape: message, of: "ClockSnapshot", oneof: "data"},
		8:  {name: "timestamp"},
		10: {name: "trusted_packet_sequence_id"},
		11: {name: "track_event", shape: message, of: "TrackEvent", oneof: "data"},
		12: {name: "interned_data", shape: message, of: "InternedData"},
		13: {name: "sequence_flags"},
		42: {name: "previous_packet_dropped"},
		58: {name: "timestamp_clock_id"},
		59: {name: "trace_packet_defaults", shape: message, of: "TracePacketDefaults"},
		60: {name: "track_descriptor", shape: message, of: "TrackDescriptor", oneof: "data"},
		87: {name: "first_packet_on_sequence", shape: boolean},
	},
	"TracePacketDefaults": {
		11: {name: "track_event_defaults", shape: message, of: "TrackEventDefaults"},
		58: {name: "timestamp_clock_id"},
	},
	"TrackEventDefaults": {
		11: {name: "track_uuid"},
		31: {name: "extra_counter_track_uuids", many: true},
		45: {name: "extra_double_counter_track_uuids", many: true},
	},
	"ClockSnapshot": {
		1: {name: "clocks", shape: message, of: "Clock", many: true},
		2: {name: "primary_trace_clock"},
	},
	"Clock": {
		1: {name: "clock_id"},
		2: {name: "timestamp"},
		3: {name: "is_incremental", shape: boolean},
		4: {name: "unit_multiplier_ns"},
	},
	"TrackDescriptor": {
		1:  {name: "uuid"},
		2:  {name: "name", shape: text, oneof: "name"},
		3:  {name: "process", shape: message, of: "ProcessDescriptor"},
		4:  {name: "thread", shape: message, of: "ThreadDescriptor"},
		5:  {name: "parent_uuid"},
		8:  {name: "counter", shape: message, of: "CounterDescriptor"},
		9:  {name: "disallow_merging_with_system_tracks", shape: boolean},
		10: {name: "static_name", shape: text, oneof: "name"},
		11: {name: "child_ordering"},
		12: {name: "sibling_order_rank", shape: signed},
		15: {name: "sibling_merge_behavior"},
	},
	"ProcessDescriptor": {
		1: {name: "pid", shape: signed},
		2: {name: "cmdline", shape: text, many: true},
		5: {name: "process_priority", shape: signed},
		6: {name: "process_name", shape: text},
		7: {name: "start_timestamp_ns", shape: signed},
	},
	"ThreadDescriptor": {
		1: {name: "pid", shape: signed},
		2: {name: "tid", shape: signed},
		5: {name: "thread_name", shape: text},
	},
	"CounterDescriptor": {
		1: {name: "type"},
		2: {name: "categories", shape: text, many: true},
		3: {name: "unit"},
		4: {name: "unit_multiplier", shape: signed},
		5: {name: "is_incremental", shape: boolean},
		6: {name: "unit_name", shape: text},
	},
	"TrackEvent": {
		3:  {name: "category_iids", many: true},
		4:  {name: "debug_annotations", shape: message, of: "DebugAnnotation", many: true},
		9:  {name: "type"},
		10: {name: "name_iid", oneof: "name"},
		11: {name: "track_uuid"},
		12: {name: "extra_counter_values", shape: signed, many: true},
		22: {name: "categories", shape: text, many: true},
		23: {name: "name", shape: text, oneof: "name"},
		30: {name: "counter_value", shape: signed, oneof: "counter"},
		31: {name: "extra_counter_track_uuids", many: true},
		44: {name: "double_counter_value", shape: double, oneof: "counter"},
		47: {name: "flow_ids", shape: eight, many: true},
		48: {name: "terminating_flow_ids", shape: eight, many: true},
	},
	"DebugAnnotation": {
		1:  {name: "name_iid", oneof: "name"},
		2:  {name: "bool_value", shape: boolean, oneof: "value"},
		3:  {name: "uint_value", oneof: "value"},
		4:  {name: "int_value", shape: signed, oneof: "value"},
		5:  {name: "double_value", shape: double, oneof: "value"},
		6:  {name: "string_value", shape: text, oneof: "value"},
		7:  {name: "pointer_value", oneof: "value"},
		10: {name: "name", shape: text, oneof: "name"},
		17: {name: "string_value_iid", oneof: "value"},
	},
	"InternedData": {
		1:  {name: "event_categories", shape: message, of: "EventCategory", many: true},
		2:  {name: "event_names", shape: message, of: "EventName", many: true},
		3:  {name: "debug_annotation_names", shape: message, of: "DebugAnnotationName", many: true},
		29: {name: "debug_annotation_string_values", shape: message, of: "InternedString", many: true},
	},
	"EventCategory":       {1: {name: "iid"}, 2: {name: "name", shape: text}},
	"EventName":           {1: {name: "iid"}, 2: {name: "name", shape: text}},
	"DebugAnnotationName": {1: {name: "iid"}, 2: {name: "name", shape: text}},
	"InternedString":      {1: {name: "iid"}, 2: {name: "str", shape: raw}},
}
