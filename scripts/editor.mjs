// Checks schemas/pipeline.schema.json as an editor uses it, by yaml-language-server: every pipeline of configs/ and of the
// pages has no diagnostics, a mistake has one, a key is explained and completed.
//
// `make editor` installs the server and runs this.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const server = join(process.argv[2] ?? "", "node_modules/yaml-language-server");
const { version } = JSON.parse(readFileSync(join(server, "package.json")));
const child = spawn(process.execPath, [join(server, "bin/yaml-language-server"), "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
const schema = pathToFileURL("schemas/pipeline.schema.json").href;

// JSON-RPC in frames with a Content-Length, as the Language Server Protocol has it.
const answers = new Map(), diagnosed = new Map();
let buffer = Buffer.alloc(0), last = 0;
const send = (message) => {
  const text = JSON.stringify({ jsonrpc: "2.0", ...message });
  child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
};
const request = (method, params) => new Promise((resolve, reject) => {
  answers.set(++last, (m) => (m.error ? reject(new Error(m.error.message)) : resolve(m.result)));
  send({ id: last, method, params });
});
const settings = { yaml: { schemas: { [schema]: ["*.yaml"] }, schemaStore: { enable: false }, validate: true, hover: true, completion: true } };
function take(m) {
  if (m.method === "textDocument/publishDiagnostics") diagnosed.get(m.params.uri)?.(m.params.diagnostics);
  else if (m.method === "workspace/configuration") send({ id: m.id, result: m.params.items.map((i) => settings[i.section] ?? null) });
  else if (m.method && m.id !== undefined) send({ id: m.id, result: null });
  else if (m.id !== undefined) answers.get(m.id)?.(m);
}
child.stdout.on("data", (part) => {
  buffer = Buffer.concat([buffer, part]);
  for (;;) {
    const end = buffer.indexOf("\r\n\r\n");
    const size = end < 0 ? 0 : Number(/Content-Length: (\d+)/i.exec(buffer.subarray(0, end))[1]);
    if (end < 0 || buffer.length < end + 4 + size) return;
    const message = JSON.parse(buffer.subarray(end + 4, end + 4 + size));
    buffer = buffer.subarray(end + 4 + size);
    take(message);
  }
});

let opened = 0;
const open = async (text) => {
  const uri = `file:///editor/${++opened}.yaml`;
  const found = new Promise((resolve) => diagnosed.set(uri, resolve));
  send({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "yaml", version: 1, text } } });
  return { uri, diagnostics: (await found).map((d) => `${d.range.start.line + 1}: ${d.message}`) };
};
const at = (text, what) => {
  const before = text.slice(0, text.indexOf(what) + what.length).split("\n");
  return { line: before.length - 1, character: before.at(-1).length };
};

let failed = 0;
const want = (ok, what) => { if (!ok) { failed++; console.error(`FAIL ${what}`); } };

await request("initialize", { processId: process.pid, rootUri: null, capabilities: { workspace: { configuration: true }, textDocument: { completion: { completionItem: { snippetSupport: false } } } } });
send({ method: "initialized", params: {} });
send({ method: "workspace/didChangeConfiguration", params: { settings } });

// Every pipeline that a person is shown.
const pipelines = [];
for (const name of readdirSync("configs", { recursive: true })) {
  if (/\.ya?ml$/.test(name)) pipelines.push([`configs/${name}`, readFileSync(join("configs", name), "utf8")]);
}
for (const page of ["README.md", ...readdirSync("docs").filter((n) => n.endsWith(".md")).map((n) => `docs/${n}`)]) {
  for (const [, part, text] of readFileSync(page, "utf8").matchAll(/(<!-- part: .*-->\n+)?```ya?ml\n(.*?)\n```/gs)) {
    if (!part) pipelines.push([page, text]); // a part alone is no pipeline: `make test` checks those
  }
}
for (const [name, text] of pipelines) {
  const { diagnostics } = await open(text.replace(/^# yaml-language-server:.*$/m, ""));
  want(diagnostics.length === 0, `${name}: ${diagnostics.join("; ")}`);
}

// Mistakes that `ubunye validate` finds by the declaration are marked, where they are.
const good = "name: p\nvariables: {dt: date}\ntasks:\n  t:\n    inputs:\n      raw: {format: csv, path: in.csv}\n    outputs:\n      raw:\n        format: parquet\n        path: out\n        mode: append\n";
want((await open(good)).diagnostics.length === 0, "the smallest pipeline");
const mistakes = [ 
  ["path: out", "paht: out"], ["format: csv", "format: csw"], ["name: p", "name: [p]"], ["dt: date", "dt: dade"], ["mode: append", "mode: upsert"], ["mode: append", "partition_by: dt"],
  ["tasks:", "task:"], ["variables:", "parallel: two words\nvariables:"], ["variables:", "ledger: {heartbeat: 30}\nvariables:"], ["mode: append", "target_file_size: 4 gigs"], ["  t:", "  a b:"],
];
for (const [from, to] of mistakes) {
  const { diagnostics } = await open(good.replace(from, to));
  want(diagnostics.length > 0, `${to} is not marked`);
  console.log(`marked: ${to.split("\n")[0]}: ${diagnostics.join("; ")}`);
}

// A key is explained, and keys and values are completed.
const { uri } = await open(good);
const hover = await request("textDocument/hover", { textDocument: { uri }, position: at(good, "        mo") });
want(JSON.stringify(hover ?? "").includes("the rows are added, once a batch"), `hover of mode: ${JSON.stringify(hover)}`);
for (const [text, before, wanted] of [
  [good + "        par", "        par", ["partition_by"]],
  [good.replace("mode: append", "mode: "), "mode: ", ["append", "overwrite", "overwrite_partitions", "error_if_exists", "ignore"]],
  [good + "led", "\nled", ["ledger"]],
]) {
  const doc = await open(text);
  const list = await request("textDocument/completion", { textDocument: { uri: doc.uri }, position: at(text, before) });
  const labels = (list.items ?? list).map((i) => i.label);
  for (const w of wanted) want(labels.includes(w), `completion after ${JSON.stringify(before)}: ${w} is not among ${labels}`);
}
child.kill();
console.log(`yaml-language-server ${version}: ${pipelines.length} pipelines, ${mistakes.length} mistakes, ${failed} failed`);
process.exit(failed ? 1 : 0);
