// Package hostile makes modules that do to the engine whatever a module can: each is named by what it
// does. They are assembled here, byte by byte, so that nothing of a compiler's stands between.
package hostile

import (
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
)

// Answers of a module that behaves.
const (
	describeAnswer = `{"abi":1,"writers":[{"abi":1,"name":"hostile","version":"1","modes":[{"name":"append","class":"claims"}],"options":{},"capabilities":["relation"]}]}`
	planAnswer     = `{"class":"claims","target":"/lake","will":"nothing good"}`
	stageAnswer    = `{"files":[],"rows":0}`
)

// Places in memory.
const (
	atDescribe = 0x100
	atPlan     = 0x400
	atStage    = 0x600
	atWord     = 0x800  // what a module has to say of its own
	atVector   = 0x1000 // an iovec over atWord
	atBuffer   = 0x2000 // free
	pages      = 2
)

// recipe is a well-behaved module but for what is set.
type recipe struct {
	initialize, describe, plan, stage []byte
	helpers                           []function // follow the exports; the first has the index helper
	marker                            string
	word                              string
	without                           string // an export to be left out
	command, foreign, noMemory        bool
	pages                             int
}

// helper is the index of a recipe's first helper.
const helper = imported + 5

func respond(at int, answer string) []byte {
	return code(call(fnRespond, int32(at), int32(len(answer))), number(0))
}

func build(r recipe) []byte {
	or := func(code, otherwise []byte) []byte {
		if code == nil {
			return otherwise
		}
		return code
	}
	marker, size := r.marker, r.pages
	if marker == "" {
		marker = abi.Marker
	}
	if size == 0 {
		size = pages
	}
	data := make([]byte, atBuffer)
	copy(data[atDescribe:], describeAnswer)
	copy(data[atPlan:], planAnswer)
	copy(data[atStage:], stageAnswer)
	copy(data[atWord:], r.word)
	data[atVector+1], data[atVector+4], data[atVector+5] = atWord>>8, byte(len(r.word)), byte(len(r.word)>>8)
	functions := []function{
		{"_initialize", 1, or(r.initialize, []byte{})},
		{marker, 0, number(0)},
		{"describe", 0, or(r.describe, respond(atDescribe, describeAnswer))},
		{"plan", 0, or(r.plan, respond(atPlan, planAnswer))},
		{"stage", 0, or(r.stage, respond(atStage, stageAnswer))},
	}
	if r.command {
		functions[0].export = "_start"
	}
	for i := range functions {
		if functions[i].export == r.without {
			functions[i].export = ""
		}
	}
	return assemble(module{functions: append(functions, r.helpers...), pages: size, data: data, foreign: r.foreign, noMemory: r.noMemory})
}

// operation asks for the operation named by the recipe's word, with the request "{}"-like tail of it:
// the word is the operation, directly followed by the request.
func operation(op, request string) (word string, codes []byte) {
	return op + request, call(fnCall, atWord, int32(len(op)), atWord+int32(len(op)), int32(len(request)), atBuffer, 0x1000)
}

// handOn answers with the last failure, whose negative length is on the stack, and fails.
func handOn() []byte {
	return code(
		[]byte{0x21, 0}, call(fnResult, atBuffer, 0x4000), drop, // local 0 := n
		number(atBuffer), number(0), []byte{0x20, 0, 0x6b}, // 0 - n
		[]byte{0x10}, uleb(fnRespond), number(1))
}

// fork is a chain of functions that call the next one twice: 2^depth calls and no loop.
func fork(depth int) []function {
	chain := make([]function, depth)
	for i := range chain[:depth-1] {
		next := helper + i + 1
		chain[i] = function{kind: 0, code: code(call(next), drop, call(next))}
	}
	chain[depth-1] = function{kind: 0, code: number(0)}
	return chain
}

// Modules returns all modules by name.
func Modules() map[string][]byte {
	m := map[string][]byte{"not-wasm": []byte("PK\x03\x04 no module at all"), "empty": {},
		"component": []byte("\x00asm\x0d\x00\x01\x00"), "torn": build(recipe{})[:200]}
	for name, r := range misfits() {
		m[name] = build(r)
	}
	for name, r := range attackers() {
		m[name] = build(r)
	}
	for name, r := range liars() {
		m[name] = build(r)
	}
	return m
}

// misfits are not made for this engine.
func misfits() map[string]recipe {
	return map[string]recipe{
		"other-version":  {marker: "ubunye_abi_2"},
		"no-marker":      {marker: "something_else"},
		"no-stage":       {without: "stage"},
		"no-memory":      {noMemory: true},
		"command":        {command: true},
		"foreign-import": {foreign: true},
		"born-too-large": {pages: 5000},
	}
}

// attackers want the engine's time, memory or life.
func attackers() map[string]recipe {
	loop := forever()
	return map[string]recipe{
		"good":            {},
		"trap":            {plan: unreachable},
		"loop":            {plan: code(loop, unreachable)},
		"loop-initialize": {initialize: loop},
		"loop-stage":      {stage: code(loop, unreachable)},
		"fork":            {plan: call(helper), helpers: fork(40)},
		"recursion":       {plan: call(helper), helpers: []function{{kind: 0, code: call(helper)}}},
		"eat-memory":      {plan: code(forever(number(16), growMemory, minusOne, equal, trapIfTrue), unreachable)},
		"eat-table":       {plan: code(forever(nullExtern, number(1<<20), growTable, drop), unreachable)},
		"print":           {word: "all work and no play\n", plan: code(forever(call(fnPrint, 1, atVector, 1, atBuffer), drop), unreachable)},
		"log":             {word: "\x1b[31mred\x07\n", plan: code(forever(call(fnLog, 1, atWord, 9)), unreachable)},
		"exit":            {plan: code(call(fnExit, 0), unreachable)},
		"last-words":      {word: "panic: out of ideas\n", plan: code(call(fnPrint, 2, atVector, 1, atBuffer), drop, unreachable)},
		"ask-forever": {word: `relation.schema{"relation":"clean"}`, stage: code(
			forever(call(fnCall, atWord, 15, atWord+15, 20, atBuffer, 0x1000), drop), unreachable)},
		"bad-request": {plan: code(call(fnRequest, -16, 4096))},
		"bad-respond": {plan: code(call(fnRespond, 0x1fff0, 100), number(0))},
		"bad-call":    {word: "abcd", plan: call(fnCall, atWord, 4, -1, 10, atBuffer, 10)},
		"bad-out":     {word: `relation.count{"relation":"clean"}`, stage: call(fnCall, atWord, 14, atWord+14, 20, -4, 4096)},
		"bad-rows":    {stage: call(fnRowsNext, 1, -1, -1)},
		"bad-write":   {stage: call(fnFileWrite, 1, 0x10000, 0x10001)},
		"bad-log":     {plan: code(call(fnLog, 1, -1, 1), number(0))},
		"huge-answer": {pages: 1000, plan: code(call(fnRespond, 0, 40<<20), number(0))},
		"huge-name":   {plan: call(fnCall, 0, 60000, 0, 0, atBuffer, 10)},
		"binary-name": {word: "a\x00b", plan: call(fnCall, atWord, 3, 0, 0, atBuffer, 10)},
	}
}

// liars answer, but not the truth.
func liars() map[string]recipe {
	say := func(word string) recipe {
		return recipe{word: word, plan: code(call(fnRespond, atWord, int32(len(word))), number(0)),
			stage: code(call(fnRespond, atWord, int32(len(word))), number(0))}
	}
	names := func(word string) recipe {
		return recipe{word: word, stage: code(call(fnRespond, atWord, int32(len(word))), number(0))}
	}
	do := func(op, request string) recipe {
		word, ask := operation(op, request)
		return recipe{word: word, plan: code(ask, handOn()), stage: code(ask, handOn())}
	}
	encodeWord, encode := operation(string(abi.OpEncode), `{"relation":"clean","format":"parquet"}`)
	createWord, create := operation(string(abi.OpFileCreate), `{"extension":"txt"}`)
	wantsSQL := strings.Replace(describeAnswer, `["relation"]`, `["relation","sql"]`, 1)
	reason := `{"code":"error","message":"no \u001b[1mgood\u001b[0m today\nat all","hint":"try tomorrow"}`
	return map[string]recipe{
		"no-json":         say("I am fine, thank you"),
		"silent":          {plan: number(0), stage: number(0)},
		"fails-silent":    {plan: number(42)},
		"unknown-class":   say(`{"class":"excellent","target":"/lake","will":"x"}`),
		"complains":       say(`{"problems":[` + strings.Repeat(`{"message":"x"},`, 100) + `{"message":"x"}]}`),
		"other-class":     say(`{"class":"once","target":"/lake","will":"x"}`),
		"unknown-field":   say(`{"class":"claims","target":"/lake","will":"x","bonus":1}`),
		"two-answers":     say(planAnswer + planAnswer),
		"ghost-file":      say(`{"files":[{"name":"../../etc/passwd","rows":1,"bytes":1}],"rows":1}`),
		"absolute-name":   names(`{"files":[{"name":"/etc/passwd","rows":1,"bytes":1}],"rows":1}`),
		"device-name":     names(`{"files":[{"name":"/dev/null","rows":1,"bytes":1}],"rows":1}`),
		"dos-name":        names(`{"files":[{"name":"CON","rows":1,"bytes":1}],"rows":1}`),
		"others-file":     names(`{"files":[{"name":"../clean/part-1.parquet","rows":1,"bytes":1}],"rows":1}`),
		"late-write":      {word: createWord, stage: code(call(fnRespond, atStage, int32(len(stageAnswer))), create, drop, call(fnFileWrite, 1, atBuffer, 100), drop, number(0))},
		"opens-many":      {word: createWord, stage: code(times(10_000, create, drop), respond(atStage, stageAnswer))},
		"asks-file":       do(string(abi.OpFileCreate), `{"extension":"txt","partition":{"dt":"../../up"}}`),
		"writes-in-plan":  {word: createWord, plan: code(create, handOn())},
		"reports":         {word: reason, plan: code(call(fnRespond, atWord, int32(len(reason))), number(1))},
		"asks-table":      do("table.get", "{}"),
		"asks-encode":     do(string(abi.OpEncode), `{"relation":"clean","format":"parquet"}`),
		"asks-other":      do(string(abi.OpCount), `{"relation":"salaries"}`),
		"asks-nonsense":   do("relation.destroy", "{}"),
		"asks-path":       do(string(abi.OpFileCreate), `{"extension":"../x"}`),
		"hides-file":      {word: encodeWord, stage: code(encode, drop, respond(atStage, stageAnswer))},
		"takes-file":      {word: createWord, stage: code(create, handOn())},
		"leaves-open":     {word: createWord, stage: code(create, drop, respond(atStage, stageAnswer))},
		"swallows":        {word: encodeWord, stage: code(encode, drop, respond(atStage, stageAnswer))},
		"unknown-cursor":  {stage: code(call(fnRowsNext, 77, atBuffer, 100), handOn())},
		"unknown-file":    {stage: code(call(fnFileWrite, 77, atBuffer, 100), handOn())},
		"wants-sql":       {word: wantsSQL, describe: respond(atWord, wantsSQL)},
		"describes-other": {describe: code(call(fnRespond, atPlan, int32(len(planAnswer))), number(0))},
	}
}
