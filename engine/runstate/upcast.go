package runstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// sdlbFormat is the newest format of Smart Data Lake Builder that is understood.
const sdlbFormat = 7

// A step brings a file from the format of its index to the next one. It names exact paths: an action may be called
// results, and a partition column filter or elements. What a step finds in the newer shape already it leaves as it is,
// because files of one version have several shapes. All of them, by the version in which each first appears (a `*`
// stands for any name):
//
//	from  in actionsState.*, if nothing else is said
//	0     attemptId → executionId.attemptId, with the file's runId; neither: the file's own runId and attemptId
//	1     only adds: times of the phases
//	2     only adds: appVersion
//	3     results[].subFeed.* → results[].*; results[].mainMetrics → results[].metrics;
//	      inputIds[].id → inputIds[]; outputIds[].id → outputIds[]
//	4     x.elements → x, where x is results[].partitionValues[], results[].fileRefs[].partitionValues,
//	      results[].fileRefMapping[].src and tgt .partitionValues, and outside of actionsState
//	      appConfig.partitionValues[] and appConfig.multiPartitionValues[];
//	      outside of it buildVersionInfo → sdlbVersionInfo and appVersion → appVersionInfo.version
//	5     times to UTC; results[].filter → the last of results[].filters
//	6     results[].filter likewise: some files of version 6 still have it
//	7     duration in whole seconds → ISO 8601; outside of actionsState sdlbVersionInfo.revision without the end of its
//	      line; runStateFormatVersion → migratedFrom.runStateFormatVersion
//
// A null stands for a member that is not there.
var steps = [Format]func(*upcast) error{
	0: (*upcast).executions,
	1: (*upcast).onlyAdded,
	2: (*upcast).onlyAdded,
	3: (*upcast).flat,
	4: (*upcast).plain,
	5: (*upcast).zoned,
	6: (*upcast).filters,
	7: (*upcast).ours,
}

// upcast is a file on its way to the newest format.
type upcast struct {
	tree  object
	zone  *time.Location
	local bool // a time without a zone was met
}

// decode reads a state file of any format that is known. Times without a zone are taken to be in zone. The error is a
// *NewerError or an *UnreadableError; path is for them.
func decode(path string, data []byte, zone *time.Location) (*Document, error) {
	unreadable := func(err error) (*Document, error) {
		return nil, &UnreadableError{Path: path, Reason: err.Error(), Err: err}
	}
	tree, err := parse(data)
	if err != nil {
		return unreadable(err)
	}
	engine, ours := tree["engine"]
	version, text, err := formatOf(tree, ours)
	switch {
	case err != nil:
		return unreadable(err)
	case ours && engine != engineName:
		return unreadable(fmt.Errorf("it is of the program %v", engine))
	case ours && version > Format:
		return nil, &NewerError{Path: path, Version: text, Known: Format}
	case !ours && version > sdlbFormat:
		return nil, &NewerError{Path: path, Version: text, Known: sdlbFormat, SDLB: true}
	case ours && version < Format:
		return unreadable(fmt.Errorf("it says that it is ours, and has the format %s, which is not", text))
	}
	if !ours {
		u := &upcast{tree: tree, zone: zone}
		for from := version; from < Format; from++ {
			if err := steps[from](u); err != nil {
				return unreadable(err)
			}
		}
		if data, err = json.Marshal(u.tree); err != nil {
			return unreadable(err)
		}
	}
	d := &Document{}
	if err = json.Unmarshal(data, d); err == nil {
		err = d.check()
	}
	if err != nil {
		return unreadable(err)
	}
	return d, nil
}

// formatOf reads the version of a file. One that is not there is 0; "1.0", as text, is what the first that had one said.
func formatOf(tree object, ours bool) (version int64, text string, err error) {
	switch v := tree["runStateFormatVersion"].(type) {
	case nil:
		if ours {
			return 0, "", errors.New("it has no runStateFormatVersion")
		}
		return 0, "", nil
	case json.Number:
		if version, err = strconv.ParseInt(v.String(), 10, 64); err == nil && version > 0 {
			return version, v.String(), nil
		}
		return 0, "", fmt.Errorf("its runStateFormatVersion %s is no version", v)
	case string:
		if v == "1.0" && !ours {
			return 1, v, nil
		}
		return 0, "", fmt.Errorf("its runStateFormatVersion %q is no version", v)
	}
	return 0, "", errors.New("its runStateFormatVersion is neither a number nor a text")
}

// check tells what a document lacks that everything relies on.
func (d *Document) check() error {
	switch {
	case d.App.Name == "":
		return errors.New("it has no appConfig.applicationName")
	case d.Run < 1:
		return errors.New("it has no runId")
	case d.Attempt < 1:
		return errors.New("it has no attemptId")
	case d.Actions == nil:
		return errors.New("it has no actionsState")
	}
	for _, name := range sortedKeys(d.Actions) {
		if d.Actions[name].State == "" {
			return fmt.Errorf("actionsState.%s has no state", name)
		}
	}
	return nil
}

func (u *upcast) onlyAdded() error { return nil }

// executions gives every action the attempt that did it.
func (u *upcast) executions() error {
	return actions(u.tree, func(path string, action object) error {
		attempt, has := action["attemptId"]
		if _, there := action["executionId"]; there {
			if has {
				return fmt.Errorf("%s has both attemptId and executionId", path)
			}
			return nil
		}
		if !has {
			attempt = u.tree["attemptId"]
		}
		delete(action, "attemptId")
		action["executionId"] = object{"runId": u.tree["runId"], "attemptId": attempt}
		return nil
	})
}

// flat takes the two halves of every result together, and the ids out of their objects.
func (u *upcast) flat() error {
	err := results(u.tree, func(path string, result object) error {
		half, err := member(result, path, "subFeed")
		if err != nil {
			return err
		}
		delete(result, "subFeed")
		if err := move(result, path, "mainMetrics", "metrics"); err != nil {
			return err
		}
		for name, v := range half {
			if _, taken := result[name]; taken {
				return fmt.Errorf("%s has %s twice", path, name)
			}
			result[name] = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	return actions(u.tree, func(path string, action object) error {
		for _, name := range []string{"inputIds", "outputIds"} {
			ids, err := list(action, path, name)
			if err != nil {
				return err
			}
			for i, id := range ids {
				o, wrapped := id.(object)
				if !wrapped {
					continue
				}
				if len(o) != 1 || o["id"] == nil {
					return fmt.Errorf("%s is no id", at(at(path, name), i))
				}
				ids[i] = o["id"]
			}
		}
		return nil
	})
}

// plain takes partition values out of their objects, and gives the versions their names of today.
func (u *upcast) plain() error {
	if err := results(u.tree, plainResult); err != nil {
		return err
	}
	app, err := member(u.tree, "", "appConfig")
	for _, name := range []string{"partitionValues", "multiPartitionValues"} {
		if err == nil {
			err = plainList(app, "appConfig", name)
		}
	}
	if err == nil {
		err = move(u.tree, "the file", "buildVersionInfo", "sdlbVersionInfo")
	}
	if err != nil {
		return err
	}
	if version := u.tree["appVersion"]; version != nil {
		u.tree["appVersion"] = object{"version": version}
		return move(u.tree, "the file", "appVersion", "appVersionInfo")
	}
	return nil
}

func plainResult(path string, result object) error {
	if err := plainList(result, path, "partitionValues"); err != nil {
		return err
	}
	file := func(path string, o object) error {
		if o["partitionValues"] != nil {
			o["partitionValues"] = unwrapped(o["partitionValues"])
		}
		return nil
	}
	if err := objects(result, path, "fileRefs", file); err != nil {
		return err
	}
	return objects(result, path, "fileRefMapping", func(path string, mapping object) error {
		for _, name := range []string{"src", "tgt"} {
			side, err := member(mapping, path, name)
			if err != nil {
				return err
			}
			if side != nil {
				file(path, side)
			}
		}
		return nil
	})
}

func plainList(o object, path, name string) error {
	all, err := list(o, path, name)
	for i, v := range all {
		all[i] = unwrapped(v)
	}
	return err
}

// unwrapped takes partition values out of an object that holds them alone. Values are never objects, so a column that
// is called elements is not taken for it.
func unwrapped(v any) any {
	if o, ok := v.(object); ok && len(o) == 1 {
		if inner, ok := o["elements"].(object); ok {
			return inner
		}
	}
	return v
}

// zoned gives times in UTC, and filters as a list.
func (u *upcast) zoned() error {
	for _, name := range []string{"runStartTime", "attemptStartTime", "runEndTime"} {
		if err := u.time(u.tree, "", name); err != nil {
			return err
		}
	}
	err := actions(u.tree, func(path string, action object) error {
		for _, name := range []string{"startTstmpPrepare", "endTstmpPrepare", "startTstmpInit", "endTstmpInit", "startTstmp", "endTstmp"} {
			if err := u.time(action, path, name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return u.filters()
}

func (u *upcast) time(o object, path, name string) error {
	switch v := o[name].(type) {
	case nil:
		return nil
	case string:
		t, local, err := utc(v, u.zone)
		if err != nil {
			return fmt.Errorf("%s: %w", at(path, name), err)
		}
		o[name] = t.Format(time.RFC3339Nano)
		u.local = u.local || local
		return nil
	}
	return fmt.Errorf("%s: %w", at(path, name), errNoText)
}

// filters puts the one filter that a result may have into its list.
func (u *upcast) filters() error {
	return results(u.tree, func(path string, result object) error {
		filter, there := result["filter"]
		if !there {
			return nil
		}
		all, err := list(result, path, "filters")
		if err != nil {
			return err
		}
		delete(result, "filter")
		if filter != nil {
			all = append(all, filter)
		}
		if all == nil {
			all = []any{}
		}
		result["filters"] = all
		return nil
	})
}

// ours makes the document one of this program's, which says where it is from.
func (u *upcast) ours() error {
	err := actions(u.tree, func(path string, action object) error {
		switch v := action["duration"].(type) {
		case nil, string:
		case json.Number:
			seconds, err := strconv.ParseInt(v.String(), 10, 32)
			if err != nil {
				return fmt.Errorf("%s is no number of seconds", at(path, "duration"))
			}
			action["duration"] = DurationText(time.Duration(seconds) * time.Second)
			return nil
		default:
			return fmt.Errorf("%s: %w", at(path, "duration"), errNoText)
		}
		if text, ok := action["duration"].(string); ok {
			if _, err := parseDuration(text); err != nil {
				return fmt.Errorf("%s: %w", at(path, "duration"), err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	origin := object{"engine": "sdlb"}
	if was := u.tree["runStateFormatVersion"]; was != nil {
		origin["runStateFormatVersion"] = was
	}
	if u.local {
		origin["timeZone"] = u.zone.String()
	}
	if err := u.trimRevision(); err != nil {
		return err
	}
	for _, taken := range []string{"migratedFrom", "ubunyeVersionInfo", "ledgerRunId", "otherDataObjectsState", "accepted", "rerun"} {
		if _, there := u.tree[taken]; there {
			return fmt.Errorf("it has %s, and does not say that it is ours", taken)
		}
	}
	u.tree["engine"], u.tree["runStateFormatVersion"], u.tree["migratedFrom"] = engineName, Format, origin
	return nil
}

// trimRevision takes the end of the line off a revision that was the output of a command.
func (u *upcast) trimRevision() error {
	info, err := member(u.tree, "", "sdlbVersionInfo")
	if err != nil || info == nil {
		return err
	}
	if revision, ok := info["revision"].(string); ok {
		info["revision"] = strings.TrimRight(revision, "\r\n")
	}
	return nil
}
