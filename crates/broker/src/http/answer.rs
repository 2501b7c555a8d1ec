//! Answers of the HTTP port.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

/// One answer, whole in memory.
pub(super) struct Answer(pub(super) Response<Full<Bytes>>);

impl Answer {
    /// The answer with one header more.
    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers_mut().insert(name, value);
        self
    }
}

pub(super) fn text(status: StatusCode, body: String) -> Answer {
    body_of(status, "text/plain; charset=utf-8", body.into())
}

pub(super) fn json(status: StatusCode, body: &serde_json::Value) -> Answer {
    body_of(status, "application/json", format!("{body}\n").into())
}

pub(super) fn body_of(status: StatusCode, kind: &'static str, body: Bytes) -> Answer {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    Answer(response).with(CONTENT_TYPE, HeaderValue::from_static(kind))
}

pub(super) fn not_allowed(method: &'static str) -> Answer {
    let answer = text(StatusCode::METHOD_NOT_ALLOWED, format!("only {method} is served here\n"));
    answer.with(ALLOW, HeaderValue::from_static(method))
}
