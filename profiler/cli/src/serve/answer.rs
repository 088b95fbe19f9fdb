//! Responses: their status, type and headers.

use std::fmt::Display;

use http_body_util::Full;
use hyper::Response;
pub(super) use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};

/// The type of profiles. Alloy accepts no other one.
const PROFILE: &str = "application/octet-stream";
const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Pages load nothing, and no other page shows them in a frame. The picture has a script and styles
/// of its own.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// A response.
#[derive(Debug)]
pub(super) struct Answer {
    status: StatusCode,
    content_type: &'static str,
    extra: Option<(HeaderName, HeaderValue)>,
    body: Bytes,
}

impl Answer {
    fn new(status: StatusCode, content_type: &'static str, body: Bytes) -> Self {
        Answer {
            status,
            content_type,
            extra: None,
            body,
        }
    }

    /// Returns the answer with a profile of this name.
    pub(super) fn profile(name: &'static str, body: Bytes) -> Self {
        let file = format!("attachment; filename=\"{name}\"");
        Answer {
            extra: HeaderValue::try_from(file)
                .ok()
                .map(|file| (CONTENT_DISPOSITION, file)),
            ..Answer::new(StatusCode::OK, PROFILE, body)
        }
    }

    pub(super) fn html(body: String) -> Self {
        Answer::new(StatusCode::OK, HTML, body.into())
    }

    pub(super) fn svg(body: Bytes) -> Self {
        Answer::new(StatusCode::OK, SVG, body)
    }

    pub(super) fn metrics(body: Bytes) -> Self {
        Answer::new(
            StatusCode::OK,
            heapglass_profiler::export::METRICS_CONTENT_TYPE,
            body,
        )
    }

    /// Returns the answer that says why there is no page.
    pub(super) fn refusal(status: StatusCode, why: impl Display) -> Self {
        Answer::new(status, TEXT, format!("{why}\n").into())
    }

    /// Returns the answer to other methods than GET and HEAD.
    pub(super) fn method_not_allowed() -> Self {
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Answer {
            extra: Some((ALLOW, HeaderValue::from_static("GET, HEAD"))),
            ..Answer::refusal(status, "this server only answers GET and HEAD")
        }
    }

    /// Returns the answer to a request without the token.
    pub(super) fn unauthorized() -> Self {
        let why = "this server needs its token: send `Authorization: Bearer TOKEN`";
        Answer {
            extra: Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            ..Answer::refusal(StatusCode::UNAUTHORIZED, why)
        }
    }

    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        let fixed = [
            (CONTENT_TYPE, self.content_type),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (CACHE_CONTROL, "no-store"),
            (CONTENT_SECURITY_POLICY, POLICY),
            (
                HeaderName::from_static("cross-origin-resource-policy"),
                "same-origin",
            ),
        ];
        for (name, value) in fixed {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if let Some((name, value)) = self.extra {
            headers.insert(name, value);
        }
        response
    }
}
