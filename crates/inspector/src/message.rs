//! What goes over the wire: calls with ids, answers and events, of the target itself and of its workers, whose
//! messages travel inside of the target's.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The receiver of a call: the target's main thread, or one of its workers, by the inspector's own number.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Session(pub(crate) Option<String>);

impl Session {
    /// The main thread.
    pub const MAIN: Self = Self(None);

    /// Whether it is the main thread.
    pub fn is_main(&self) -> bool {
        self.0.is_none()
    }
}

/// Something that came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) session: Session,
    pub(crate) body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    /// To a call; an error is the target's message.
    Answer { id: u64, result: Result<String, String> },
    /// By itself, with its parameters as JSON.
    Event { method: String, params: String },
}

/// The text of a call.
pub(crate) fn call(session: &Session, id: u64, method: &str, params: &Value) -> String {
    let inner = json!({ "id": id, "method": method, "params": params }).to_string();
    match &session.0 {
        None => inner,
        Some(worker) => json!({
            "id": id,
            "method": "NodeWorker.sendMessageToWorker",
            "params": { "sessionId": worker, "message": inner },
        })
        .to_string(),
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    id: Option<u64>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<Complaint>,
}

#[derive(Deserialize)]
struct Complaint {
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FromWorker {
    session_id: String,
    message: String,
}

/// Takes a message apart. What a worker was sent is also answered by its main thread; a good answer of that kind
/// means nothing and is left out.
pub(crate) fn parse(text: &str) -> serde_json::Result<Option<Message>> {
    let wire: Wire<'_> = serde_json::from_str(text)?;
    if wire.method.as_deref() == Some("NodeWorker.receivedMessageFromWorker") {
        let inner: FromWorker = serde_json::from_str(wire.params.map_or("{}", RawValue::get))?;
        let wire: Wire<'_> = serde_json::from_str(&inner.message)?;
        return Ok(
            body(&wire).map(|body| Message { session: Session(Some(inner.session_id)), body })
        );
    }
    Ok(body(&wire).map(|body| Message { session: Session::MAIN, body }))
}

fn body(wire: &Wire<'_>) -> Option<Body> {
    let raw = |value: Option<&RawValue>| {
        value.map_or_else(|| "{}".to_owned(), |value| value.get().to_owned())
    };
    if let Some(method) = &wire.method {
        return Some(Body::Event { method: method.clone(), params: raw(wire.params) });
    }
    let result = match &wire.error {
        Some(complaint) => Err(complaint.message.clone().unwrap_or_default()),
        None => Ok(raw(wire.result)),
    };
    wire.id.map(|id| Body::Answer { id, result })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Message> {
        parse(text).expect("it is JSON")
    }

    #[test]
    fn workers_speak_inside_of_the_main_thread() {
        let text = r#"{"method":"NodeWorker.receivedMessageFromWorker","params":{"sessionId":"7","message":"{\"id\":3,\"result\":{\"a\":\"é\"}}"}}"#;
        let body = Body::Answer { id: 3, result: Ok(r#"{"a":"é"}"#.into()) };
        assert_eq!(parsed(text), Some(Message { session: Session(Some("7".into())), body }));
        let sent = call(&Session(Some("7".into())), 3, "A.b", &json!({}));
        assert!(sent.contains("sendMessageToWorker") && sent.contains(r#"{\"id\":3"#), "{sent}");
    }

    #[test]
    fn answers_events_and_nonsense() {
        let refused = Body::Answer { id: 1, result: Err("no".into()) };
        let body = |text: &str| parsed(text).map(|message| message.body);
        assert_eq!(body(r#"{"id":1,"error":{"code":-1,"message":"no"}}"#), Some(refused));
        let event = Body::Event { method: "A.b".into(), params: "{}".into() };
        assert_eq!(body(r#"{"method":"A.b"}"#), Some(event));
        assert_eq!(parsed("{}"), None);
        assert!(parse("[").is_err() && parse(r#"{"id":"x"}"#).is_err());
    }
}
