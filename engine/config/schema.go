package config

// declare is the one declaration of the pipeline file.
func declare() *Field {
	top := []*Field{
		{Name: "name", Kind: Name, Required: true, Constant: true, Example: "sales",
			Doc: "Names the pipeline in the ledger. Changing it makes every batch a new one."},
		{Name: "variables", Kind: Map, Keys: Name, Ordered: true, Elem: variableField(), Example: "{dt: {type: date, required: true}}",
			Doc: "What a run is given by --var, --dt and --dtf. SQL names them as $dt, text as {{ dt }}."},
		{Name: "batch", Kind: List, Constant: true, Elem: &Field{Kind: Name}, Example: "[dt, region]",
			Doc: "The variables that make the batch; each must have a value. Without it: all that have one. The profile is always part of the batch. An empty list is for pipelines that read incrementally: then every run is one of the same batch, and goes on where the last one ended."},
		engineField(),
		ledgerField(),
		{Name: "durability", Kind: Choice, Values: []string{"safe", "fast"}, Default: "safe", Setting: true, Constant: true,
			Doc: "safe: files are synced to the disk before the batch is committed, and their names before the ledger forgets them. fast: only the ledger is synced; a power cut can damage or lose the files of the newest batches, although they are committed. A program that is killed loses nothing either way."},
		{Name: "parallel", Kind: Int, Default: "1", Setting: true, Constant: true, Example: "2",
			Doc: "How many tasks may run side by side. Those that read what another one writes wait for it."},
		stateField(),
		{Name: "connections", Kind: Map, Keys: Name, Constant: true, Elem: connectionField(), Example: "{warehouse: {url: jdbc:postgresql://db/sales, user: {env: PGUSER}, password: {env: PGPASSWORD}}}",
			Doc: "Databases, by names that inputs use."},
		{Name: "plugins", Kind: Map, Keys: Name, Constant: true, Elem: pluginField(), Example: "{excel: {path: excel.wasm, sha256: 9f86d081…}}",
			Doc: "Writers that are files. An output names one as its format; a name of a built-in writer replaces that one. Those that `ubunye plugin add` has written into ubunye.lock need not be named here, unless to change their limits."},
		{Name: "tasks", Kind: Map, Keys: Name, Required: true, Elem: taskField(), Example: "{clean_orders: {inputs: …, transform: …, outputs: …}}",
			Doc: "What is read, transformed and written. Tasks run in the order of the file, but after those whose output they read."},
	}
	profile := &Field{Kind: Object, Fields: top}
	return &Field{Kind: Object, Fields: append([]*Field{
		{Name: "profiles", Kind: Map, Keys: Name, Elem: profile, Example: "{prod: {engine: {memory: 16GiB}}}",
			Doc: "Named changes, merged over the rest of the file key by key; chosen by --profile. Lists are replaced whole."},
	}, top...)}
}

func later(name, doc string) *Field { return &Field{Name: name, Later: true, Doc: doc} }

func variableField() *Field {
	return &Field{Kind: Object, Short: "type", Fields: []*Field{
		{Name: "type", Kind: Choice, Values: typeNames(), Default: string(TypeText), Constant: true, Example: "date",
			Doc: "How a value is checked and spelled; see Type."},
		{Name: "required", Kind: Bool, Default: "false", Constant: true,
			Doc: "A run that is not given a value is refused."},
		{Name: "default", Kind: Scalar, Example: "eu",
			Doc: "The value when none is given. A default alone does not name a batch."},
		{Name: "values", Kind: List, Constant: true, Elem: &Field{Kind: Text}, Example: "[eu, us]",
			Doc: "What a variable of type enum may be."},
		{Name: "doc", Kind: Text, Constant: true, Doc: "What the variable is for."},
	}}
}

func engineField() *Field {
	return &Field{Name: "engine", Kind: Object, Constant: true, Doc: "What makes the rows.", Fields: []*Field{
		{Name: "kind", Kind: Choice, Values: []string{"local"}, LaterOf: []string{"spark"}, Default: "local", Setting: true,
			Doc: "local: the embedded engine, on this machine."},
		{Name: "memory", Kind: Bytes, Setting: true, Example: "4GiB",
			Doc: "Most memory to use, by the whole run: tasks that may run side by side have equal parts of it. Beyond it rows are spilled to disk. Without it the engine decides."},
		{Name: "threads", Kind: Int, Setting: true, Example: "4",
			Doc: "Worker threads of a task. Without it the engine decides."},
		{Name: "spill", Kind: Path, Setting: true, Example: "/var/tmp/ubunye",
			Doc: "Folder for rows that do not fit into memory. It is made if it is not there."},
		later("remote", "Address of a remote engine."),
	}}
}

func ledgerField() *Field {
	return &Field{Name: "ledger", Kind: Object, Constant: true, Doc: "The record of which batches are done and who holds them.", Fields: []*Field{
		{Name: "path", Kind: Path, Default: ".ubunye", Setting: true,
			Doc: "The ledger's folder. Runs that write to the same outputs must share it."},
		{Name: "heartbeat", Kind: Duration, Default: "30s", Setting: true,
			Doc: "How often a run shows that it is alive."},
		{Name: "timeout", Kind: Duration, Default: "15m", Setting: true,
			Doc: "After this long without a heartbeat a run is taken for dead; at least six heartbeats."},
	}}
}

func stateField() *Field {
	return &Field{Name: "state", Kind: Object, Constant: true, Doc: "How far each run got, so that the next start goes on with one that did not end well.", Fields: []*Field{
		{Name: "path", Kind: Path, Setting: true, Example: "/srv/state/sales",
			Doc: "The folder of the run state. Without it: state in the ledger's folder. Pipelines of different names may share one."},
		{Name: "strict", Kind: Bool, Default: "false", Setting: true, Constant: true,
			Doc: "true: a start goes on with the latest run of all, so that one that did not end well must be finished or accepted before another batch may run. false: with the latest one of the same variables and profile."},
		{Name: "recover", Kind: Choice, Values: []string{"proof", "auto", "ask"}, Default: "proof", Setting: true, Constant: true,
			Doc: "When a run goes on, what becomes of its tasks that are done and have appended. proof: they are kept if what they read is unchanged, else the start is refused. auto: they are kept. ask: the start is refused without --resume or --rerun. All other tasks that are done are kept."},
		{Name: "index", Kind: Bool, Default: "false", Setting: true, Constant: true,
			Doc: "true: each run that ended is one line of index.json in the folder, for other programs to read."},
	}}
}

func pluginField() *Field {
	return &Field{Kind: Object, Fields: []*Field{
		{Name: "path", Kind: Path, Example: "excel.wasm", Doc: "The WebAssembly module. Required, unless ubunye.lock has a plugin of this name."},
		{Name: "sha256", Kind: Text, Example: "9f86d081…",
			Doc: "The module's SHA-256 in hexadecimal; a file with other contents is refused. Required, unless ubunye.lock has it: validate says what to write."},
		{Name: "writer", Kind: Text, Example: "excel", Doc: "Which of the module's writers. Without it: the only one, or the one of the plugin's name."},
		{Name: "memory", Kind: Bytes, Default: "256MiB", Doc: "Most memory that the module may have."},
		{Name: "timeout", Kind: Duration, Default: "10m",
			Doc: "Most time that the module may take to stage an output, and, up to 30s, to look at it before. What the engine does for it meanwhile does not count."},
		{Name: "allow", Kind: Object, Example: "{files: true}", Doc: "What the module may ask for beside relations.", Fields: []*Field{
			{Name: "files", Kind: Bool, Default: "false", Doc: "Files of its own making, in staging."},
			{Name: "table", Kind: Bool, Default: "false", Doc: "The files of the output's target, of which it makes a table with commits of its own."},
			later("sql", "A database."),
			{Name: "http", Kind: List, Constant: true, Elem: &Field{Kind: Text}, Example: "[api.example.com]",
				Doc: "Hosts that it may ask, by https; one that is to be asked without encryption is written whole, as http://localhost:8080. A network, as 10.1.0.0/16, allows the names to lead to private addresses of it."},
			{Name: "secrets", Kind: List, Constant: true, Elem: &Field{Kind: Text}, Example: "[API_TOKEN]",
				Doc: "Environment variables whose values the header of a request may carry, as ${API_TOKEN}. The module never sees them, and they are printed nowhere."},
		}},
	}}
}

func taskField() *Field {
	return &Field{Kind: Object, Fields: []*Field{
		{Name: "inputs", Kind: Map, Keys: Name, Elem: inputField(), Example: "{raw: {format: csv, path: landing/*.csv}}",
			Doc: "What to read: files, or what another task wrote. Each is a relation that the SQL steps can use."},
		{Name: "transform", Kind: Map, Keys: Name, Ordered: true, Elem: stepField(), Example: "{clean: SELECT * FROM raw}",
			Doc: "Named SQL steps, in order. Each is one SELECT, and a relation that later steps can use."},
		{Name: "expect", Kind: Map, Keys: Name, Elem: &Field{Kind: List, Elem: checkField()}, Example: "{clean: [{not_null: [id]}, {unique: [id]}, {rows: {min: 1}, severity: warn}]}",
			Doc: "Data checks of inputs and steps, by their names. They are made before anything lands, on the rows that land; a failed one ends the task."},
		{Name: "reconcile", Kind: List, Elem: reconcileField(), Example: "[{input: raw, output: clean, rows: equal}]",
			Doc: "Comparisons of what was read with what is to land, made when everything is staged and before anything lands."},
		{Name: "outputs", Kind: Map, Keys: Name, Required: true, Elem: outputField(), Example: "{clean: {format: parquet, path: lake/orders}}",
			Doc: "What is written."},
	}}
}

func inputField() *Field {
	return &Field{Kind: Object, Fields: []*Field{
		{Name: "format", Kind: Choice, Required: true, Unless: "from", Values: []string{"csv", "json", "parquet", "delta", formatJDBC}, Example: "csv",
			Doc: "The format of the files; delta is a Delta table, jdbc a table or query of a database."},
		{Name: "path", Kind: Path, Unless: "from", Example: "landing/{{ dt }}/orders*.csv",
			Doc: "Required, but of jdbc. A file, or a glob (*, ?, [..], **); of delta the folder of the table. A task that reads where another one writes runs after it if it comes later in the file, and is cancelled if that one fails; else it runs before it."},
		{Name: "from", Kind: Text, Constant: true, Example: "clean_orders.clean",
			Doc: "What another task of the same run wrote to an output, as TASK.OUTPUT: exactly the files that its commit landed, whatever else is in the folder, with the columns and types of the relation that was written. " +
				"The task runs after the other one, and is cancelled if that one fails or leaves the output as it is. Both must be part of the run."},
		{Name: "options", Kind: Map, Keys: Text, Unless: "from", Elem: &Field{Kind: Option}, Example: `{delimiter: ";"}`,
			Doc: "Options of the format."},
		{Name: "columns", Kind: Map, Keys: Text, Unless: "from", Ordered: true, Elem: &Field{Kind: SQL}, Example: `{id: bigint, amount: "decimal(18,2)"}`,
			Doc: "Columns and their SQL types. Without it they are what all files together have: see schema."},
		{Name: "schema", Kind: Choice, Unless: "from", Values: []string{"strict", "add_columns", "evolve"}, Default: "strict",
			Doc: "What an input without columns may do when its files have other columns, or columns of another type, than in the last run of the task that was committed. strict: nothing, the task ends and nothing lands. " +
				"add_columns: have new ones, which a warning tells. evolve: all, which warnings tell."},
		{Name: "on_empty", Kind: Choice, Values: []string{"ok", "warn", "fail"}, Default: "warn",
			Doc: "What an input without rows means: nothing, a warning, or the end of the task."},
		{Name: "rejects", Kind: Name, Unless: "from", Constant: true, Example: "bad_orders",
			Doc: "Gathers the rows of a csv or json input that are not as declared, instead of failing: as a relation of this name, with the columns file, line, column, reason and text. An output of the task must write it. The input needs columns."},
		{Name: "max_rejects", Kind: Option, Unless: "from", Constant: true, Example: "1%",
			Doc: "How many of them there may be, as a number or in per cent of the rows read; with more the task fails, and nothing lands. Without it there may be any number, but not all rows."},
		incrementalField(),
		{Name: "connection", Kind: Text, Unless: "from", Constant: true, Example: "warehouse",
			Doc: "Of jdbc, required: the connection to the database."},
		{Name: "table", Kind: Text, Unless: "from", Example: "sales.orders",
			Doc: "Of jdbc: the table, with or without its schema. Names are taken as they are written, with upper and lower case."},
		{Name: "query", Kind: SQL, Unless: "from", Example: "SELECT id, amount FROM orders WHERE dt = DATE '{{ dt }}'",
			Doc: "Of jdbc, in place of table: one SELECT in the database's own SQL, which does not know $dt."},
	}}
}

func incrementalField() *Field {
	return &Field{Name: "incremental", Kind: Object, Unless: "from", Constant: true, Example: "{files: new}",
		Doc: "Read only what no run of the batch has read yet, and note what was read in the same step that commits it. What is to be read is noted before it is read; a run that dies is followed by one that reads the same. " +
			"A task of which no incremental input has anything new is skipped.", Fields: []*Field{
			{Name: "column", Kind: Text, Example: "updated_at",
				Doc: "A column of numbers, texts, dates or timestamps that grows: rows are read whose value is above the greatest one that was read. Rows that come later with a value that is not above it are never read; a row without a value ends the task."},
			{Name: "files", Kind: Choice, Values: []string{"new"}, Example: "new",
				Doc: "new: files are read that were not read yet; one is known by its name, size and time, so one that was written again is read again, whole."},
			{Name: "settle", Kind: Duration, Default: "10s", Example: "1m", Zero: true,
				Doc: "With files: one that was written less than so long ago, by the clock of the ledger's disk, may not be whole yet, and is left for the next run."},
		}}
}

func stepField() *Field {
	return &Field{Kind: Object, Short: "sql", Fields: []*Field{
		{Name: "sql", Kind: SQL, Example: "SELECT * FROM raw", Doc: "One SELECT."},
		{Name: "sql_file", Kind: Path, Example: "clean.sql", Doc: "A file that holds one SELECT. It is not templated: use $dt."},
	}}
}

func outputField() *Field {
	return &Field{Kind: Object, Fields: []*Field{
		{Name: "from", Kind: Text, Example: "clean", Doc: "The step or input to write. Without it: the one of the output's name."},
		{Name: "format", Kind: Text, Required: true, LaterOf: []string{"jdbc"}, Example: "parquet", Doc: "The writer plugin."},
		{Name: "path", Kind: Path, Required: true, Example: "lake/orders", Doc: "The folder to write to. Several tasks may append to one folder, in one format; of two of which one replaces what is there, one must run after the other. " +
			"A task that reads the folder which it writes to is told: a rerun finds there what it wrote before."},
		{Name: "mode", Kind: Choice, Values: []string{"append", "overwrite", "overwrite_partitions", "merge", "error_if_exists", "ignore"},
			Default: "append",
			Doc: "append: the rows are added, once a batch. overwrite: they replace the folder, in one step. " +
				"overwrite_partitions: they replace, each in one step, the partitions that they have, and the slice whose partition_by columns have the names of variables of the batch. " +
				"merge, of a table: rows with the keys of a new one are replaced by it, and the other new ones are added. " +
				"error_if_exists, ignore: where there is data, the task fails, or writes nothing and says so. " +
				"A folder that replaces one is staged in the ledger or, if that is on another disk, beside the output: a reader of ** above that place sees its files twice while the two are swapped. " +
				"Where a disk is mounted at the folder it is staged in it, and overwrite moves what is in it name by name, which readers can see. A table does all of this in one commit of its own, and nothing is staged twice."},
		{Name: "partition_by", Kind: List, Elem: &Field{Kind: Text}, Example: "[dt]",
			Doc: "Columns that become key=value folders and leave the files."},
		{Name: "sort_by", Kind: List, Elem: &Field{Kind: SQL}, Example: "[id, amount DESC]", Doc: "The order of the rows in a file."},
		{Name: "options", Kind: Map, Keys: Text, Elem: &Field{Kind: Option}, Example: "{compression: zstd}", Doc: "Options of the writer."},
		{Name: "success_file", Kind: Bool, Default: "true", Doc: "Write an empty _SUCCESS file after the last file is there."},
		{Name: "target_file_size", Kind: Bytes, Example: "256MiB",
			Doc: "Size at which a new file is begun, roughly. Not with partition_by."},
		{Name: "keys", Kind: List, Elem: &Field{Kind: Text}, Example: "[id]", Doc: "Of mode merge: the columns that identify a row."},
		{Name: "replace_where", Kind: SQL, Example: "dt = DATE '2026-01-31'",
			Doc: "Of a table and mode append: the condition on the rows that are replaced, in one step, by the new ones, which must all fulfil it."},
		later("once", "A table that keeps batches from landing twice."),
		later("create", "Whether a table is made."),
		{Name: "schema", Kind: Choice, Values: []string{"strict", "add_columns"}, Example: "add_columns",
			Doc: "Of a table: what becomes of columns that it lacks. strict: the task fails. add_columns: the table gets them. Without it the writer decides."},
		later("connection", "The database to write to."),
		later("table", "The table to write to."),
	}}
}
