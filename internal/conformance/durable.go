package main

// durable are the behaviours of durable threads, which no runtime of this kind has: demands C12 (continuations that are cloned) and C13 (that are serialized, and go on
// elsewhere) of the proposal.
var durable = []group{
	{"DU", "durable threads", []behaviour{
		{"DU-01", "it goes on from its bytes elsewhere; what was recorded stays done", tested},
		{"DU-02", "it moves to its data and back, with its children", tested},
		{"DU-03", "it waits for hours while no process has it", tested},
		{"DU-04", "hibernated, it has no stack and less memory", tested},
		{"DU-05", "a clone goes on by itself; clones find all solutions", tested},
		{"DU-06", "generators are cloned between values, and go on from bytes", tested},
		{"DU-07", "children go with their parent, which ends after them", tested},
		{"DU-08", "a divergence is found where it begins; the journal stays", tested},
		{"DU-09", "changed code goes on with old journals and old states", tested},
		{"DU-10", "a state stands for a million steps before it", tested},
		{"DU-11", "calls under way are repeated or not, as their policy says", tested},
		{"DU-12", "processes die at any moment; what was recorded happened once", tested},
		{"DU-13", "a cut store is whole; other damage is an error", tested},
		{"DU-14", "bytes are checked, limited, signed, encrypted; impossible ones are refused", tested},
		{"DU-15", "a hibernated one is seen from outside, where it stands", tested},
		{"DU-16", "a seed repeats its simulation; a lying disk is found", tested},
	}},
}
