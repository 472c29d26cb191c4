//! What a target answers, as far as a recorder needs it.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::threads::{Moment, Stall};

/// What an evaluation gave, or the exception that it threw.
pub(crate) fn remote_in(answer: &str) -> Result<Remote, String> {
    let evaluated: Evaluated = serde_json::from_str(answer).map_err(|error| error.to_string())?;
    match evaluated.exception_details {
        Some(details) => {
            let thrown =
                details.exception.and_then(|thrown| thrown.description).unwrap_or(details.text);
            Err(thrown.lines().next().unwrap_or_default().to_owned())
        }
        None => Ok(evaluated.result),
    }
}

/// What a change of windows took.
pub(crate) fn stall_in(answer: &Result<String, String>, moment: Moment) -> Result<Stall, String> {
    Stall::parse(&text_in(answer)?, moment).ok_or_else(|| "its clocks cannot be read".to_owned())
}

/// The text that an evaluation gave.
pub(crate) fn text_in(answer: &Result<String, String>) -> Result<String, String> {
    let remote = remote_in(answer.as_ref().map_err(Clone::clone)?)?;
    Ok(remote.value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Evaluated {
    result: Remote,
    exception_details: Option<ExceptionDetails>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Remote {
    pub(crate) value: Option<Value>,
    pub(crate) object_id: Option<String>,
    pub(crate) description: Option<String>,
}

#[derive(Deserialize)]
struct ExceptionDetails {
    #[serde(default)]
    text: String,
    exception: Option<Remote>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attached {
    pub(crate) session_id: String,
    pub(crate) worker_info: WorkerInfo,
}

#[derive(Deserialize)]
pub(crate) struct WorkerInfo {
    pub(crate) title: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Detached {
    pub(crate) session_id: String,
}

#[derive(Deserialize)]
pub(crate) struct Finished<'a> {
    pub(crate) title: Option<String>,
    #[serde(borrow)]
    pub(crate) profile: &'a RawValue,
}

#[derive(Deserialize)]
pub(crate) struct Stopped<'a> {
    #[serde(borrow)]
    pub(crate) profile: &'a RawValue,
}

#[derive(Deserialize)]
pub(crate) struct Taken<'a> {
    #[serde(borrow)]
    pub(crate) result: &'a RawValue,
}
