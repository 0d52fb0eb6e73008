package config

import (
	"os"
	"strings"
	"testing"
)

// TestBytesOfTheFile has the files that no test file can show well.
func TestBytesOfTheFile(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"empty", "", "p.yaml:1:1: the file is empty (a pipeline has a name and tasks)"},
		{"comment only", "# nothing\n", "p.yaml:1:1: the file is empty (a pipeline has a name and tasks)"},
		{"no document", "---\n", "p.yaml:1:1: the file is empty (a pipeline has a name and tasks)"},
		{"null", "~\n", "p.yaml:1:1: the file is empty (a pipeline has a name and tasks)"},
		{"a list", "- a\n", "p.yaml:1:1: the file holds a list, not keys and values (a pipeline has a name and tasks)"},
		{"a text", "hello\n", "p.yaml:1:1: the file holds text, not keys and values (a pipeline has a name and tasks)"},
		{"byte order mark", "\ufeffname: sales\n", "p.yaml:1:1: the file begins with a byte order mark (save it as UTF-8 without one)"},
		{"UTF-16", "\xff\xfen\x00", "p.yaml:1:1: the file is UTF-16 (save it as UTF-8)"},
		{"Latin-1", "name: sales\n# Espec\xedfica\n", "p.yaml:2:8: byte 0xed is not UTF-8 (save the file as UTF-8)"},
		{"NUL", "name: a\x00\n", `p.yaml:1:8: the character U+0000 cannot stand in the file (remove it, or write it as \uXXXX in double quotes)`},
		{"line separator", "name: a\r\nx: \u2028\n", `p.yaml:2:4: the character U+2028 cannot stand in the file (remove it, or write it as \uXXXX in double quotes)`},
		{"too large", "#" + strings.Repeat("x", maxFile), "p.yaml: the file has 4194305 bytes; 4194304 is the most"},
		{"columns are bytes", "name: s\ntasks: {\"äöü\": {}, é: 1}\n",
			"p.yaml:2:9: \"äöü\" in tasks cannot be a name (" + nameRule + ")\n" + "p.yaml:2:23: \"é\" in tasks cannot be a name (" + nameRule + ")"},
		{"too deep", "a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "p.yaml:1:68: more than 64 blocks inside each other"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load("p.yaml", []byte(tt.data), Options{Env: func() []string { return nil }})
			if err == nil || err.Error() != tt.want {
				t.Errorf("\n got %v\nwant %v", err, tt.want)
			}
		})
	}
}

func TestFileThatMayNotBeRead(t *testing.T) {
	file := t.TempDir() + "/p.yaml"
	if err := os.WriteFile(file, []byte("name: a"), 0o000); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		t.Skip("the superuser may read every file")
	}
	want := file + ": the pipeline file cannot be read: permission denied (give this user the right to read it)"
	if _, err := Load(file, Options{}); err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %v", err, want)
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for file, want := range map[string]string{
		dir + "/none.yaml": dir + "/none.yaml: the pipeline file cannot be read: no such file or directory (name it with -c FILE)",
		dir:                dir + ": the pipeline file cannot be read: is a directory (name it with -c FILE)",
	} {
		if _, err := Load(file, Options{}); err == nil || err.Error() != want {
			t.Errorf("\n got %v\nwant %v", err, want)
		}
	}
}
