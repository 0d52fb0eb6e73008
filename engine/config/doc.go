// Package config reads the pipeline file: YAML becomes a typed, fully rendered [Pipeline], and
// every problem of the file is reported at once with its position and a hint.
//
// # Reading the source
//
// [Load] (load.go) is the flow. A file passes through these stages:
//
//  1. source.go: the bytes are UTF-8 text; offsets, lines and columns.
//  2. tree.go: YAML to a tree of our own: aliases copied, merge keys resolved, duplicate keys found.
//  3. check.go: every key is declared, every value has the declared kind. The declaration is
//     schema.go, the only place where a field is named.
//  4. merge.go, settings.go: the profile, the environment and the flags are laid over the file.
//  5. variables.go, types.go: what the run was given, checked and brought to one spelling.
//  6. render.go, template.go: "{{ }}" in text, once; a rendered value is never parsed again.
//  7. decode.go: the typed [Pipeline]; references, names and folders are checked.
//
// # Templates
//
//	{{ dt }}                            a variable
//	{{ env.HOME }}                      an environment variable; an error when it is not set
//	{{ region | default('eu') }}        when a variable has no value, or the environment variable is not set
//	{{ dt | date_add(-1) }}             adds days to a date, months to a month, hours to an hour
//	{{ dt | date_format('%Y/%m') }}     %Y %m %d %H %M %S %j %y and %%
//	{{ '{{' }}                          text as it stands
//
// A filter is a function whose first argument stands before it: date_add(dt, 1) is dt | date_add(1).
// In SQL text a value from outside (a variable or the environment) may hold letters, digits, spaces
// and _-.:+/ but no "--"; in a path it may hold neither a separator nor "..", a glob character, nor be
// empty. Text in the file itself, also inside a date_format pattern, is the author's and goes in as it is.
//
// Outside tasks templates may use the environment only, because names and settings are the same
// for every batch. A variable's default may also use variables declared above it.
package config
