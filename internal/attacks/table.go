package main

// A group is a kind of attacks.
type group struct {
	name    string
	about   string
	attacks []attack
}

// An attack is a row of the table: what is tried, by which test, and what holds.
type attack struct {
	what  string
	dir   string // of the test's package
	test  string // its name
	holds string
	env   string // a variable that makes the test try more often, as NAME=VALUE; "" for none
}

var groups = []group{
	{"Neighbours", "Another user of the machine prepares names, files and sockets where root, or the program's user, looks or writes.", []attack{
		{"a control socket that is a link, or that of another process", "agent/control", "TestOnlyTheProcessOfTheFlightFileAnswers", "the process of the flight file answers, or none", ""},
		{"a flight file named after the process of another user", "runtime/flight", "TestANeighboursFileSpeaksForNoOthersProcess", "the file's owner must be the process's user", ""},
		{"a flight file linked to the name of another process", "runtime/flight", "TestAFileThatIsNamedAfterAnotherProcessIsRefused", "header and name must agree", ""},
		{"a mapped flight file that is replaced, or another process's", "runtime/flight", "TestAMappedFileIsOpenedIfItIsThatOfTheProcess", "what is opened must be what is mapped", ""},
		{"a directory for flight files that others own, may write to, or link to", "runtime/flight", "TestDirectoryThatOthersCouldUseIsRefused", "it is refused", ""},
		{"the flight file of another user", "runtime/flight", "TestAnotherUsersFileIsRefusedAsSuch", "it is refused as such", ""},
		{"links in the places of a recording and its parts", "recording", "TestWhatPreparedNamesLeadToIsNotTouched", "what they lead to is not touched", ""},
		{"a pipe in the place of a recording", "recording", "TestAPipeInThePlaceOfARecordingIsRefused", "it is refused, and not waited for", ""},
		{"a pipe in the place of a recording's older part", "recording", "TestTheOlderPartOfARecordingMayBeAPipe", "the recording is read", ""},
		{"large files with names of incident bundles", "incident", "TestBundlesOfANeighbourCountForNothing", "the store keeps its own bundles", ""},
		{"links and a pipe in the place of an incident bundle", "incident", "TestOnlyABundlesOwnFileIsRead", "they are refused", ""},
		{"an incident bundle that is another name of a secret file", "agent", "TestKeptBundlesAreListedTakenAndShown", "it is not served", ""},
		{"an output that is a link to a device, or a pipe", "cmd/vtdump", "TestAnOutputThatANeighbourPreparedIsNotWrittenTo", "it is refused", ""},
		{"a link that takes the place of a new marks file", "cmd/vtdump", "TestMarksChangeTheModeOfNoOtherFile", "no other file's mode changes", ""},
		{"an audit file that leads to another file", "agent/access", "TestTheAuditIsAppendedToNoOtherFile", "it is refused", ""},
		{"a pipe in the place of tokens, keys and certificates", "agent/access", "TestSecretsAndCertificatesAreWaitedForNever", "it is refused, and not waited for", ""},
		{"authorities of clients that others may change", "agent/access", "TestAuthoritiesThatOthersMayChangeAreRefused", "they are refused", ""},
		{"tokens that others may read", "cmd/vtserve", "TestSecretFilesThatOthersMayReadAreRefused", "they are refused", ""},
		{"sockets and directories in the place of vtserve's socket", "cmd/vtserve", "TestSocketsInThePlaceOfOthersAreRefused", "they are refused", ""},
		{"links in the folder of a durable store", "runtime/durable", "TestAStoreCutsNoFileThatALinkLeadsTo", "what they lead to is not cut", ""},
		{"a pipe in the folder of a durable store", "runtime/durable", "TestAFolderWithAPipeIsNotWaitedFor", "it is not waited for", ""},
	}},
	{"Servers and their callers", "Somebody connects to vtserve, or answers in the place of a program.", []attack{
		{"requests whose sender hangs up before it is looked at", "agent/access", "TestANeighbourWhoHangsUpAtOnceIsNotTakenForRoot", "they are refused", ""},
		{"the attacks of [security.md](security.md), each by its name", "cmd/vtserve", "TestKnownAttacksFail", "each is refused, and the server goes on", ""},
		{"intruders over the network", "cmd/vtserve", "TestIntrudersFail", "each is refused, and the server goes on", ""},
		{"an address that others reach, without token or TLS", "cmd/vtserve", "TestAnAddressThatOthersReachNeedsATokenAndTLS", "the server does not start", ""},
		{"certificates of strangers", "cmd/vtserve", "TestCertificatesOfClients", "they are refused", ""},
		{"texts that a rule hides", "cmd/vtserve", "TestWhatARuleHidesLeavesByNoWay", "they leave by no way", ""},
		{"a reason of 256 KiB with codes for a terminal", "agent/control", "TestAReasonIsShortAndFitForATerminal", "it is cut and cleaned", ""},
		{"a process that answers without end, slowly, or with bombs", "cmd/vtdump", "TestALiarCostsItsCallerLittle", "memory and time have limits", ""},
		{"codes for a terminal in an agent's answer", "cmd/vtdump", "TestNoCharacterOfAnAgentsAnswerChangesTheTerminal", "none is printed", ""},
		{"a compressed profile that grows without end", "dump/profile", "TestAHostileProfileTakesNoMoreMemoryThanItMay", "memory has a limit", ""},
	}},
	{"Damaged files", "Somebody damages a file, or makes one, that vtscope reads.", []attack{
		{"every command on 14 kinds of damaged files", "cmd/vtdump", "TestNoCommandPanicsOnADamagedFile", "no command panics, and no control character is printed", "VTSCOPE_HOSTILE=1m"},
		{"recordings cut at every byte, and with flipped bits", "recording", "TestEveryTruncationAndRandomFlipsAreRead", "what is whole is read", ""},
		{"flight files cut at every length", "runtime/flight", "TestEveryPrefixOfAFileGivesAnErrorOrIsMarkedIncomplete", "an error, or marked as incomplete", ""},
		{"a flight file that is cut under its reader", "runtime/flight", "TestFileCutUnderAnOpenReaderIsIncomplete", "marked as incomplete", ""},
		{"flight files with flipped bits", "runtime/flight", "TestFlippedBitsNeverCrashOrHangTheReader", "the reader neither crashes nor hangs", ""},
		{"a flight file full of half-written records", "runtime/flight", "TestFileFullOfHalfWrittenRecordsIsReadQuickly", "it is read", ""},
		{"dumps of flight files with flipped bits", "dump", "TestFlippedBitsNeverCrash", "no crash", ""},
		{"a cut goroutine text", "dump/goroutines", "TestCutDumpSaysWhatIsMissing", "it says what is missing", ""},
		{"a damaged dump of the JDK", "dump/jdk", "TestDamagedDumpSaysWhereItEnds", "it says where it ends", ""},
		{"a core that is cut while it is read", "dump/memory", "TestACoreThatIsCutWhileItIsReadIsAnErrorNotACrash", "an error, and no crash", ""},
		{"hostile incident bundles", "incident", "TestHostileBundlesAreRefused", "they are refused", ""},
		{"a file of holes, of 8 TiB, in the place of a dump or of marks", "cmd/vtdump", "TestAHugeFileOfHolesIsRefused", "it is refused", ""},
		{"a durable store cut at any byte", "runtime/durable", "TestAStoreIsRecoveredAfterAnyCut", "it is recovered", ""},
		{"damage in the newest file of a durable store", "runtime/durable", "TestDamageInTheMiddleOfTheNewestFileIsTold", "it is told", ""},
	}},
	{"Deaths", "A program dies, in many ways, at any moment.", []attack{
		{"signals, panics, exits, lack of memory, a stack overflow and others", "internal/survive", "TestTheFileOfAProcessThatDiesHasItsLastMoments", "the flight file has the last moments", "VTSCOPE_DEATHS=3"},
		{"a program that is stopped", "internal/survive", "TestTheFileOfAStoppedProcessHasItsLastMoments", "the flight file has the last moments", "VTSCOPE_DEATHS=3"},
		{"a flight file that is truncated under its program", "internal/survive", "TestAProgramWhoseFlightFileIsCutGoesOn", "the program goes on", "VTSCOPE_DEATHS=10"},
		{"kills of workers of durable threads", "runtime/durable", "TestWorksSurviveTheDeathOfTheirProcess", "nothing is recorded twice or lost", "VTSCOPE_DEATHS=20"},
		{"a storm of kills over workers and servers", "runtime/durable/jetstream/fleet", "TestEveryWorkEndsInAStorm", "nothing is recorded twice or lost", "VTSCOPE_STORM=1m"},
		{"a program that ends without closing its recorder", "runtime/flight", "TestAProcessThatDidNotCloseIsGoneWithTheEvidence", "it is gone, with the evidence", ""},
	}},
	{"Shortages", "Memory, disks, descriptors and other limits run out.", []attack{
		{"limits of memory, descriptors, file sizes, threads and processors", "internal/survive", "TestAProgramThatRunsShortGivesTheSameResults", "the program gives the same results", ""},
		{"a full tmpfs", "runtime/flight", "TestFullTmpfsCostsRecordsNotTheProcess", "records are lost and counted, the program lives", ""},
		{"a tmpfs that is too small", "runtime/flight", "TestTmpfsTooSmallForAFileMeansPrivateMemory", "private memory is used", ""},
		{"a limit of file sizes", "runtime/flight", "TestLimitOfFileSizesIsRespected", "the file stays below it", ""},
		{"a limit of address space", "runtime/flight", "TestRecorderLeavesAddressSpaceToTheProgram", "the recorder leaves enough to the program", ""},
		{"a full disk while a recording is written", "recording", "TestFullDiskEndsTheRecordingWithItsError", "its error is told, and what was written is read", ""},
		{"a full disk while a bundle is written", "incident", "TestAFullDiskLeavesNoHalfBundle", "no half bundle stays", ""},
		{"a hundred clients of an agent, ten of them stuck, for a while", "bench", "TestClientsSoak", "memory and descriptors stay within limits", "VTSCOPE_SOAK=1m"},
		{"a full disk under durable threads", "runtime/durable", "TestAFullDiskStopsThreadsUntilThereIsRoom", "they go on when there is room", ""},
	}},
	{"Uses of Go", "Programs do what Go allows and schedulers dislike.", []attack{
		{"a thread that locks its OS thread", "runtime/sched", "TestAThreadOnALockedOSThreadHoldsItsCarrierAndOthersGoOn", "it holds its carrier, and others go on", ""},
		{"a thread that ends with its OS thread locked", "runtime/sched", "TestAThreadMayEndLockedToItsOSThread", "others go on", ""},
		{"a body that ends by Goexit", "runtime/sched", "TestGoexitEndsOnlyTheThread", "it alone ends", ""},
		{"a panic that is handled", "runtime/sched", "TestAHandledPanicEndsOnlyTheThread", "it ends the thread alone", ""},
		{"an observer of pins that panics", "runtime/sched", "TestAnObserverOfPinsThatPanicsBreaksNobody", "nobody breaks", ""},
		{"a suspension on a locked OS thread", "runtime/continuation", "TestSuspendOnALockedOSThreadIsRefused", "it is refused", ""},
		{"a panic during Goexit", "runtime/continuation", "TestAPanicDuringGoexitComesOutOfRunAndTheGoexitGoesOn", "both arrive", ""},
		{"a very deep stack", "runtime/continuation", "TestAVeryDeepStackIsSuspendedAndResumed", "it is suspended and resumed", ""},
		{"a finalizer that waits for threads", "runtime/vthread", "TestAFinalizerMayWaitForThreads", "it returns", ""},
		{"a limit of OS threads (SetMaxThreads) below the number of blocked threads", "runtime/vthread", "TestThreadsThatBlockInChannelsTakeNoOSThreads", "the program goes on", ""},
		{"a synctest bubble", "runtime/continuation", "TestThreadsAndContinuationsInASynctestBubble", "threads and continuations work in it", ""},
	}},
}
