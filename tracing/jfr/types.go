package jfr

// A class is a type of the file: of values, of events or of annotations. Its id is its position in the list that it is in, and does not change while a
// file is written: metadata only grows.
type class struct {
	name   string
	super  string // "" of values
	simple bool   // a value is its only field
	fields []field
	notes  []note
	// settings are what a recorder can be told about events of the class, with what it does unless it is told.
	settings []setting
}

// A setting is one of an event.
type setting struct{ name, class, value string }

// A field is one of a class. A value of a class is its fields one after the other.
type field struct {
	name, class string
	pooled      bool // a key of the pool of the class stands for it
	list        bool
	notes       []note
}

// A note is an annotation.
type note struct {
	class  string
	values []string
	list   bool // several values, even if there is only one
}

// The classes that a class can be made of besides others.
const (
	typeEvent      = "jdk.jfr.Event"
	typeAnnotation = "java.lang.annotation.Annotation"
	typeSetting    = "jdk.jfr.SettingControl"

	typeBoolean = "boolean"
	typeDouble  = "double"
	typeFloat   = "float"
	typeInt     = "int"
	typeLong    = "long"
	typeString  = "java.lang.String"
	typeThread  = "java.lang.Thread"
	typeGroup   = "jdk.types.ThreadGroup"
	typeClass   = "java.lang.Class"
	typeLoader  = "jdk.types.ClassLoader"
	typePackage = "jdk.types.Package"
	typeModule  = "jdk.types.Module"
	typeMethod  = "jdk.types.Method"
	typeStack   = "jdk.types.StackTrace"
	typeFrame   = "jdk.types.StackFrame"
	typeFrames  = "jdk.types.FrameType"
	typeStates  = "jdk.types.ThreadState"
	typeSymbol  = "jdk.types.Symbol"
)

func labelled(text string) note  { return note{class: "jdk.jfr.Label", values: []string{text}} }
func described(text string) note { return note{class: "jdk.jfr.Description", values: []string{text}} }
func timespan(unit string) note  { return note{class: "jdk.jfr.Timespan", values: []string{unit}} }
func timestamp(unit string) note { return note{class: "jdk.jfr.Timestamp", values: []string{unit}} }
func amount(unit string) note    { return note{class: "jdk.jfr.DataAmount", values: []string{unit}} }

func categorized(path ...string) note {
	return note{class: "jdk.jfr.Category", values: path, list: true}
}

var (
	address  = []note{{class: "jdk.jfr.Unsigned"}, {class: "jdk.jfr.MemoryAddress"}}
	inTicks  = timespan("TICKS")
	inNanos  = timespan("NANOSECONDS")
	inMillis = timespan("MILLISECONDS")
	inEpoch  = timestamp("MILLISECONDS_SINCE_EPOCH")
	inBytes  = amount("BYTES")
)

// is makes a field that is a value; of makes one that is a key.
func is(class, name, label string, notes ...note) field {
	if label != "" {
		notes = append([]note{labelled(label)}, notes...)
	}
	return field{name: name, class: class, notes: notes}
}

func of(class, name, label string, notes ...note) field {
	f := is(class, name, label, notes...)
	f.pooled = true
	return f
}

// Fields that readers look for by their names, in this order in front of all others.
var (
	fieldStart    = is(typeLong, "startTime", "Start Time", timestamp("TICKS"))
	fieldDuration = is(typeLong, "duration", "Duration", inTicks)
	fieldThread   = of(typeThread, "eventThread", "Event Thread", described("Thread in which event was committed in"))
	fieldStack    = of(typeStack, "stackTrace", "Stack Trace", described("Stack Trace starting from the method the event was committed in"))
)

// values are the types of values. Some readers know the order of the fields of Thread, Class, Method and StackFrame by heart: nothing may be added there.
var values = []class{
	{name: typeBoolean}, {name: "char"}, {name: typeFloat}, {name: typeDouble}, {name: "byte"}, {name: "short"}, {name: typeInt}, {name: typeLong}, {name: typeString},
	{name: typeThread, notes: []note{labelled("Thread")}, fields: []field{
		is(typeString, "osName", "OS Thread Name"), is(typeLong, "osThreadId", "OS Thread Id"),
		is(typeString, "javaName", "Java Thread Name"), is(typeLong, "javaThreadId", "Java Thread Id"),
		of(typeGroup, "group", "Java Thread Group"), is(typeBoolean, "virtual", "Virtual Thread")}},
	{name: typeGroup, notes: []note{labelled("Thread Group")}, fields: []field{of(typeGroup, "parent", "Parent"), is(typeString, "name", "Name")}},
	{name: typeClass, notes: []note{labelled("Java Class")}, fields: []field{
		of(typeLoader, "classLoader", "Class Loader"), of(typeSymbol, "name", "Name"), of(typePackage, "package", "Package"),
		is(typeInt, "modifiers", "Access Modifiers"), is(typeBoolean, "hidden", "Hidden")}},
	{name: typeLoader, notes: []note{labelled("Java Class Loader")}, fields: []field{of(typeClass, "type", "Type"), of(typeSymbol, "name", "Name")}},
	{name: typePackage, notes: []note{labelled("Package")}, fields: []field{
		of(typeSymbol, "name", "Name"), of(typeModule, "module", "Module"), is(typeBoolean, "exported", "Exported")}},
	{name: typeModule, notes: []note{labelled("Module")}, fields: []field{
		of(typeSymbol, "name", "Name"), of(typeSymbol, "version", "Version"), of(typeSymbol, "location", "Location"), of(typeLoader, "classLoader", "Class Loader")}},
	{name: typeMethod, notes: []note{labelled("Java Method")}, fields: []field{
		of(typeClass, "type", "Type"), of(typeSymbol, "name", "Name"), of(typeSymbol, "descriptor", "Descriptor"),
		is(typeInt, "modifiers", "Access Modifiers"), is(typeBoolean, "hidden", "Hidden")}},
	{name: typeStack, notes: []note{labelled("Stacktrace")}, fields: []field{
		is(typeBoolean, "truncated", "Truncated"), {name: "frames", class: typeFrame, list: true, notes: []note{labelled("Stack Frames")}}}},
	{name: typeFrame, fields: []field{
		of(typeMethod, "method", "Java Method"), is(typeInt, "lineNumber", "Line Number"), is(typeInt, "bytecodeIndex", "Bytecode Index"),
		of(typeFrames, "type", "Frame Type")}},
	{name: typeFrames, simple: true, fields: []field{is(typeString, "description", "Description")}},
	{name: typeStates, simple: true, fields: []field{is(typeString, "name", "Name")}},
	{name: typeSymbol, simple: true, fields: []field{is(typeString, "string", "String")}},
}

var (
	isContent = []note{{class: "jdk.jfr.ContentType"}}
	text      = []field{is(typeString, "value", "")}
	texts     = []field{{name: "value", class: typeString, list: true}}
)

// annotations are the types of annotations, and of settings of events.
var annotations = []class{
	{name: "jdk.jfr.Label", super: typeAnnotation, fields: text},
	{name: "jdk.jfr.Description", super: typeAnnotation, fields: text},
	{name: "jdk.jfr.Category", super: typeAnnotation, fields: texts},
	{name: "jdk.jfr.Name", super: typeAnnotation, fields: text},
	{name: "jdk.jfr.ContentType", super: typeAnnotation},
	{name: "jdk.jfr.Timestamp", super: typeAnnotation, fields: text, notes: isContent},
	{name: "jdk.jfr.Timespan", super: typeAnnotation, fields: text, notes: isContent},
	{name: "jdk.jfr.DataAmount", super: typeAnnotation, fields: text, notes: isContent},
	{name: "jdk.jfr.Percentage", super: typeAnnotation, notes: isContent},
	{name: "jdk.jfr.Frequency", super: typeAnnotation, notes: isContent},
	{name: "jdk.jfr.Unsigned", super: typeAnnotation, notes: isContent},
	{name: "jdk.jfr.MemoryAddress", super: typeAnnotation, notes: isContent},
	{name: "jdk.jfr.BooleanFlag", super: typeAnnotation, notes: isContent},
	{name: "jdk.jfr.Experimental", super: typeAnnotation},
	{name: "jdk.jfr.Relational", super: typeAnnotation},
	{name: "jdk.settings.Enabled", super: typeSetting},
	{name: "jdk.settings.Threshold", super: typeSetting},
	{name: "jdk.settings.StackTrace", super: typeSetting},
}

// states are what a sampled thread was doing; the key is the position.
var states = []string{"STATE_NEW", "STATE_RUNNABLE"}

const stateRunnable = 1

// What frames are; the key is the position, and readers give each a colour.
var frameTypes = []string{"Interpreted", "JIT compiled", "Inlined", "Native"}

const (
	frameCompiled = 1
	frameInlined  = 2
	frameNative   = 3
)
