package main

import (
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/incident"
)

// documents are the JSON documents that --json prints, beside those of package dump. What is one object on each line is none.
var documents = []dump.Document{
	{Format: listFormat, Of: processesDoc{}},
	{Format: remoteListFormat, Of: remoteProcessesDoc{}},
	{Format: recordFormat, Of: recordDoc{}},
	{Format: catalogueFormat, Of: catalogueDoc{}},
	{Format: eventStatsFormat, Of: eventStatsDoc{}},
	{Format: incident.Format, Of: incident.Manifest{}},
}
