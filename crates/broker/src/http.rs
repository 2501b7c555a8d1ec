//! The HTTP port: liveness, readiness, metrics, and what the command line asks of a running broker.
//!
//! | path | answer |
//! |---|---|
//! | `GET /livez` | 200 while the process works, also during recovery |
//! | `GET /readyz` | 200 once clients are served, else 503 with what is still to be done |
//! | `GET /metrics` | Prometheus text |
//! | `GET /cluster` | JSON: this node, the cluster, all live brokers with their addresses |
//! | `POST /cluster/token` | JSON: a single-use join token; from the same machine only |

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use crate::status::{Status, TokenRefused};

/// A request's head must be there within this time (a guess: a person's slow link needs less).
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Connections at once; a health check never needs more.
const CONNECTIONS_MAX: usize = 256;

/// Accepts connections for ever. Runs on the thread that owns `status`.
pub(crate) async fn serve(listener: TcpListener, status: Rc<Status>) {
    let permits = std::sync::Arc::new(tokio::sync::Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = listener.accept().await;
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        match accepted {
            Ok((stream, peer)) => {
                let status = status.clone();
                tokio::task::spawn_local(async move {
                    connection(stream, peer, status).await;
                    drop(permit);
                });
            }
            Err(e) => {
                tracing::warn!("the HTTP port cannot accept: {e}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, peer: SocketAddr, status: Rc<Status>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let status = status.clone();
        async move { Ok::<_, Infallible>(answer(&request, peer, &status).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(HEAD_BYTES_MAX);
    if let Err(e) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!("HTTP connection from {peer} ended: {e}");
    }
}

type Answer = Response<Full<Bytes>>;

async fn answer(request: &Request<Incoming>, peer: SocketAddr, status: &Status) -> Answer {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/livez") => text(StatusCode::OK, "live\n".to_owned()),
        (&Method::GET, "/readyz") => match status.unready() {
            None => text(StatusCode::OK, "ready\n".to_owned()),
            Some(reason) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
        },
        (&Method::GET, "/metrics") => text(StatusCode::OK, status.metrics().await),
        (&Method::GET, "/cluster") => json(StatusCode::OK, &status.cluster()),
        (&Method::POST, "/cluster/token") => token(peer.ip(), status).await,
        (_, "/livez" | "/readyz" | "/metrics" | "/cluster") => not_allowed("GET"),
        (_, "/cluster/token") => not_allowed("POST"),
        _ => text(StatusCode::NOT_FOUND, "no such page\n".to_owned()),
    }
}

async fn token(peer: IpAddr, status: &Status) -> Answer {
    if !peer.to_canonical().is_loopback() {
        return text(
            StatusCode::FORBIDDEN,
            "join tokens are given on the broker's own machine only\n".to_owned(),
        );
    }
    match status.token().await {
        Ok(token) => json(StatusCode::OK, &serde_json::json!({ "token": token })),
        Err(refused @ TokenRefused::NoAuthority) => text(StatusCode::CONFLICT, format!("{refused}\n")),
        Err(refused) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{refused}\n")),
    }
}

fn text(status: StatusCode, body: String) -> Answer {
    respond(status, "text/plain; charset=utf-8", body.into())
}

fn json(status: StatusCode, body: &serde_json::Value) -> Answer {
    respond(status, "application/json", format!("{body}\n").into())
}

fn respond(status: StatusCode, kind: &'static str, body: Bytes) -> Answer {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}

fn not_allowed(method: &'static str) -> Answer {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, format!("only {method} is served here\n"));
    response.headers_mut().insert(ALLOW, hyper::header::HeaderValue::from_static(method));
    response
}
