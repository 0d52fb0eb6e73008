package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// stateText is a finished run of a batch of its own, as it stands in succeeded/.
const stateText = `{"engine":"ubunye","runStateFormatVersion":8,"appConfig":{"applicationName":"bench","variables":{"dt":"%[2]s"}},"runId":%[1]d,"attemptId":1,` +
	`"runStartTime":"2026-01-01T00:00:00Z","attemptStartTime":"2026-01-01T00:00:00Z","runEndTime":"2026-01-01T00:00:01Z","actionsState":{"orders":{"executionId":{"runId":%[1]d,"attemptId":1},` +
	`"state":"SUCCEEDED","startTstmp":"2026-01-01T00:00:00Z","endTstmp":"2026-01-01T00:00:01Z","duration":"PT1S","results":[{"dataObjectId":"out","class":"claims","rows":10,"files":1,"bytes":1000}]}},` +
	`"isFinal":true,"ubunyeVersionInfo":{"version":"bench"}}
`

// finishedRuns makes a folder of run state in which so many runs are finished, unless it is there.
func finishedRuns(dir string, n int) error {
	made := filepath.Join(dir, ".bench-made")
	if _, err := os.Stat(made); err == nil {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "succeeded"), 0o777); err != nil {
		return err
	}
	first := time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := 1; i <= n; i++ {
		text := fmt.Sprintf(stateText, i, first.AddDate(0, 0, i).Format("2006-01-02"))
		if err := os.WriteFile(filepath.Join(dir, "succeeded", fmt.Sprintf("bench.%d.1.json", i)), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(made, nil, 0o666)
}

// stateRun is a trivial run where so many have finished. Its folder is kept: the first start, which is not counted, finds out
// what is there.
func stateRun(work, csv string, n int) side {
	dir := filepath.Join(work, fmt.Sprintf("state-%d", n))
	return side{
		prepare: func(project string) error {
			if err := finishedRuns(dir, n); err != nil {
				return err
			}
			return writePipeline(csv)(project)
		},
		command: func(project string) *exec.Cmd {
			cmd := runCommand(ubunye, project)
			cmd.Args = append(cmd.Args, "--state-path", dir)
			return cmd
		},
	}
}
