//! Messages as JSON, and the calls that they belong to.

use crate::json::{self, Value};
use crate::*;

fn text(s: &str) -> Value {
    Value::Text(s.into())
}

fn number(n: i64) -> Value {
    Value::Number(n.to_string())
}

fn object(members: Vec<(&str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

pub(crate) fn encode(value: &Value) -> Vec<u8> {
    let mut to = String::new();
    value.write(&mut to);
    to.into_bytes()
}

fn texts(all: &Texts) -> Value {
    Value::Object(all.iter().map(|(name, value)| (name.clone(), text(value))).collect())
}

fn list(all: &[String]) -> Value {
    Value::List(all.iter().map(|s| text(s)).collect())
}

fn read_list(v: &Value) -> Vec<String> {
    v.items().iter().map(Value::text).collect()
}

fn read_texts(v: &Value) -> Texts {
    v.members().iter().map(|(name, value)| (name.clone(), value.text())).collect()
}

pub(crate) fn read_columns(v: &Value) -> Vec<ColumnType> {
    v.items().iter().map(|c| ColumnType { name: c.get("name").text(), sql_type: c.get("type").text() }).collect()
}

pub(crate) fn read_files(v: &Value) -> Vec<StagedFile> {
    let read = |f: &Value| StagedFile {
        name: f.get("name").text(),
        partition: read_texts(f.get("partition")),
        rows: f.get("rows").number(),
        bytes: f.get("bytes").number(),
    };
    v.items().iter().map(read).collect()
}

fn read_output(v: &Value) -> Output {
    Output {
        name: v.get("name").text(),
        mode: v.get("mode").text(),
        target: v.get("target").text(),
        partition_by: read_list(v.get("partition_by")),
        sort_by: read_list(v.get("sort_by")),
        target_file_size: v.get("target_file_size").number(),
        options: read_texts(v.get("options")),
    }
}

#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]
pub(crate) fn read_failure(v: &Value) -> Failure {
    Failure {
        code: v.get("code").text(),
        message: v.get("message").text(),
        hint: v.get("hint").text(),
        retryable: *v.get("retryable") == Value::Bool(true),
    }
}

fn failure(f: &Failure) -> Value {
    let mut members = vec![("code", text(&f.code)), ("message", text(&f.message))];
    if !f.hint.is_empty() {
        members.push(("hint", text(&f.hint)));
    }
    if f.retryable {
        members.push(("retryable", Value::Bool(true)));
    }
    object(members)
}

fn description(d: &Description) -> Value {
    let modes = d.modes.iter().map(|(name, class)| object(vec![("name", text(name)), ("class", text(class.text()))]));
    let mut capabilities = vec![text("relation")];
    if d.files {
        capabilities.push(text("files"));
    }
    let options = if d.options.is_empty() { "{}" } else { &d.options };
    object(vec![
        ("abi", number(ABI)),
        ("name", text(&d.name)),
        ("version", text(&d.version)),
        ("doc", text(&d.doc)),
        ("modes", Value::List(modes.collect())),
        ("options", Value::Raw(options.into())),
        ("capabilities", Value::List(capabilities)),
    ])
}

fn plan_answer(a: &PlanAnswer) -> Value {
    let problem = |p: &Problem| object(vec![("field", text(&p.field)), ("message", text(&p.message)), ("hint", text(&p.hint))]);
    object(vec![
        ("class", text(a.class.text())),
        ("target", text(&a.target)),
        ("problems", Value::List(a.problems.iter().map(problem).collect())),
        ("will", text(&a.will)),
    ])
}

fn stage_answer(a: &StageAnswer) -> Value {
    let file = |f: &StagedFile| {
        object(vec![("name", text(&f.name)), ("partition", texts(&f.partition)), ("rows", number(f.rows)), ("bytes", number(f.bytes))])
    };
    object(vec![
        ("files", Value::List(a.files.iter().map(file).collect())),
        ("rows", number(a.files.iter().map(|f| f.rows).sum())),
    ])
}

pub(crate) fn encode_request(r: &EncodeRequest) -> Value {
    let mut members = vec![("relation", text(&r.relation)), ("format", text(&r.format)), ("options", texts(&r.options))];
    if !r.partition_by.is_empty() {
        members.push(("partition_by", list(&r.partition_by)));
    }
    if !r.order_by.is_empty() {
        members.push(("order_by", list(&r.order_by)));
    }
    if r.target_file_size > 0 {
        members.push(("target_file_size", number(r.target_file_size)));
    }
    object(members)
}

pub(crate) fn derive_request(sql: &str, inputs: &[(&str, &str)]) -> Value {
    let inputs = inputs.iter().map(|(name, relation)| object(vec![("name", text(name)), ("relation", text(relation))]));
    object(vec![("sql", text(sql)), ("inputs", Value::List(inputs.collect()))])
}

pub(crate) fn rows_request(relation: &str, columns: &[&str]) -> Value {
    object(vec![("relation", text(relation)), ("columns", Value::List(columns.iter().map(|c| text(c)).collect()))])
}

pub(crate) fn relation_request(relation: &str) -> Value {
    object(vec![("relation", text(relation))])
}

pub(crate) fn file_create_request(partition: Option<&Texts>, extension: &str) -> Value {
    let mut members = vec![("extension", text(extension))];
    if let Some(p) = partition {
        members.push(("partition", texts(p)));
    }
    object(members)
}

pub(crate) fn file_close_request(file: i64) -> Value {
    object(vec![("file", number(file))])
}

/// Answers one call: JSON of the call's answer, or of a Failure and true.
pub(crate) fn answer(call: &str, request: &[u8], writers: &[&dyn Writer], host: &dyn Host) -> (Vec<u8>, bool) {
    match dispatch(call, request, writers, host) {
        Ok(answer) => (encode(&answer), false),
        Err(f) => (encode(&failure(&f)), true),
    }
}

fn dispatch(call: &str, request: &[u8], writers: &[&dyn Writer], host: &dyn Host) -> Result<Value, Failure> {
    if call == "describe" {
        let all = writers.iter().map(|w| description(&w.describe())).collect();
        return Ok(object(vec![("abi", number(ABI)), ("writers", Value::List(all))]));
    }
    let r = json::parse(request).map_err(|e| format!("the request cannot be read: {}", e))?;
    let name = r.get("writer").text();
    let writer = match writers.iter().find(|w| w.describe().name == name) {
        Some(w) => w,
        None => return Err(format!("there is no writer {:?} in this module", name).into()),
    };
    let (output, epoch) = (read_output(r.get("output")), r.get("epoch").number());
    let (time, memory) = (r.get("time").text(), r.get("memory").number());
    match call {
        "plan" => Ok(plan_answer(&writer.plan(&PlanRequest { output, epoch, time, memory })?)),
        "stage" => {
            let (relation, schema) = (r.get("relation").text(), read_columns(r.get("schema")));
            Ok(stage_answer(&writer.stage(host, &StageRequest { output, relation, schema, epoch, time, memory })?))
        }
        _ => Err(format!("the call {} is not known", call).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeHost;

    struct Lines;

    impl Writer for Lines {
        fn describe(&self) -> Description {
            Description { name: "lines".into(), version: "1".into(), modes: vec![("append".into(), Class::Claims)], files: true, ..Description::default() }
        }

        fn plan(&self, r: &PlanRequest) -> Result<PlanAnswer, Failure> {
            let will = format!("{} {} {:?} {}", r.output.mode, r.epoch, r.output.options, r.output.target_file_size);
            Ok(PlanAnswer { class: Class::Claims, target: r.output.target.clone(), problems: vec![], will })
        }

        fn stage(&self, host: &dyn Host, r: &StageRequest) -> Result<StageAnswer, Failure> {
            if r.schema.is_empty() {
                return Err(Failure::value("no \"column\"", "declare one"));
            }
            let mut file = host.create_file(None, "txt")?;
            file.write(b"abc")?;
            Ok(StageAnswer { files: vec![file.close(2)?] })
        }
    }

    fn ask(call: &str, request: &str) -> (String, bool) {
        let (answer, failed) = answer(call, request.as_bytes(), &[&Lines], &FakeHost::default());
        (String::from_utf8(answer).unwrap(), failed)
    }

    #[test]
    fn calls_are_answered() {
        let (answer, failed) = ask("describe", "{}");
        assert_eq!(answer, r#"{"abi":1,"writers":[{"abi":1,"name":"lines","version":"1","doc":"","modes":[{"name":"append","class":"claims"}],"options":{},"capabilities":["relation","files"]}]}"#);
        assert!(!failed);
        let plan = r#"{"writer":"lines","output":{"name":"o","mode":"append","target":"/t","target_file_size":7,"options":{"a":"b"}},"epoch":3,"time":"t","memory":1}"#;
        assert_eq!(ask("plan", plan).0, r#"{"class":"claims","target":"/t","problems":[],"will":"append 3 {\"a\": \"b\"} 7"}"#);
        let stage = r#"{"writer":"lines","output":{},"relation":"r","schema":[{"name":"c","type":"BIGINT"}],"epoch":1}"#;
        assert_eq!(ask("stage", stage).0, r#"{"files":[{"name":"file-0.txt","partition":{},"rows":2,"bytes":3}],"rows":2}"#);
    }

    #[test]
    fn failures_are_told() {
        assert_eq!(ask("stage", r#"{"writer":"lines"}"#), (r#"{"code":"value","message":"no \"column\"","hint":"declare one"}"#.into(), true));
        for (call, request) in [("plan", "{"), ("plan", r#"{"writer":"other"}"#), ("dance", r#"{"writer":"lines"}"#)] {
            let (answer, failed) = ask(call, request);
            assert!(failed && answer.starts_with(r#"{"code":"error","message":""#), "{}", answer);
        }
    }
}
