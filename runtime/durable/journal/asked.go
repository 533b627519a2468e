package journal

// Command is the name by which a process is asked through its control socket for the threads of its keepers. The question is a [Question] as JSON, the answer an [Answer].
const Command = "durable"

// Folders is the kind of a store that is a folder.
const Folders = "file store"

// A Question is for a page of the list of threads, or for the history of one.
type Question struct {
	After  string `json:"after,omitempty"`  // of the list: the Next of the page before
	Thread string `json:"thread,omitempty"` // its history, as much as Look says; "": the list
	Look
}

// An Answer is a page of a list, or a history.
type Answer struct {
	Stores  []StoreTold  `json:"stores,omitempty"` // of the keepers of the process, or of the thread's
	Rows    []DurableRow `json:"rows,omitempty"`   // by id
	Next    string       `json:"next,omitempty"`   // there are more after this id
	History *History     `json:"history,omitempty"`
}

// A StoreTold is where a keeper keeps its threads.
type StoreTold struct {
	Kind string `json:"kind"`
	Path string `json:"path,omitempty"` // of a folder
}
