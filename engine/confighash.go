package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// configParts hashes each part of a task's configuration, by the name that it has in the pipeline, as inputs.raw.
func configParts(config []byte) map[string]string {
	var sections map[string]json.RawMessage
	if json.Unmarshal(config, &sections) != nil {
		return nil
	}
	parts := map[string]string{}
	for section, text := range sections {
		var members []json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			parts[section] = configHash(text)[:8]
			continue
		}
		if section == "steps" {
			section = "transform"
		}
		for i, member := range members {
			var named struct {
				Name string `json:"name"`
			}
			_ = json.Unmarshal(member, &named) // what has no name is known by its place
			parts[section+"."+cmp.Or(named.Name, strconv.Itoa(i+1))] = configHash(member)[:8]
		}
	}
	return parts
}

// configHash is equal for equal work, see config.Task.
func configHash(config []byte) string {
	sum := sha256.Sum256(config)
	return hex.EncodeToString(sum[:16])
}
