//! The browser package and its examples, embedded when the broker was built, and the page that links to what there is.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, ETAG, HeaderName, HeaderValue, LOCATION,
    X_CONTENT_TYPE_OPTIONS,
};

use super::answer::{Answer, body_of, text};

include!(concat!(env!("OUT_DIR"), "/web_files.rs"));

/// What a folder answers with.
const INDEX: &str = "index.html";

const FOLDERS: [&str; 2] = ["/client", "/examples"];

const NOT_BUILT_IN: &str = "this broker was built without the browser package.\n\
    Build it with: cargo xtask wasm && HIGHWATER_WEB_DIR=$PWD/target/served cargo build --release\n";

/// A file with what a browser compares it by.
struct File {
    bytes: &'static [u8],
    etag: HeaderValue,
}

static BY_PATH: LazyLock<BTreeMap<String, File>> = LazyLock::new(|| {
    let file = |(name, bytes): &(&str, &'static [u8])| {
        let hash = blake3::hash(bytes).to_hex();
        let etag =
            HeaderValue::from_str(&format!("\"{hash}\"")).expect("quotes and hex are a header's value");
        (format!("/{name}"), File { bytes, etag })
    };
    FILES.iter().map(file).collect()
});

/// Whether a path belongs to these files, there or not.
pub(super) fn owns(path: &str) -> bool {
    let below =
        |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    FOLDERS.iter().any(|folder| below(folder)) || BY_PATH.contains_key(path)
}

/// The file of a path. `known` is the value of `if-none-match`.
pub(super) fn answer(path: &str, known: Option<&HeaderValue>) -> Answer {
    serve(&BY_PATH, path, known)
}

fn serve(files: &BTreeMap<String, File>, path: &str, known: Option<&HeaderValue>) -> Answer {
    let index = format!("{}/{INDEX}", path.trim_end_matches('/'));
    let found = if path.ends_with('/') { files.get(&index) } else { files.get(path) };
    match found {
        Some(file) if known == Some(&file.etag) => {
            shared(body_of(StatusCode::NOT_MODIFIED, kind_of(path), Bytes::new()), file)
        }
        Some(file) => {
            let name = if path.ends_with('/') { INDEX } else { path };
            shared(body_of(StatusCode::OK, kind_of(name), Bytes::from_static(file.bytes)), file)
        }
        None if files.contains_key(&index) => moved(path),
        None if files.is_empty() => text(StatusCode::NOT_FOUND, NOT_BUILT_IN.to_owned()),
        None => text(StatusCode::NOT_FOUND, "no such file in the browser package\n".to_owned()),
    }
}

/// Any page may load the package, as it may from a registry; it holds nothing of the cluster.
fn shared(answer: Answer, file: &File) -> Answer {
    let headers: [(HeaderName, HeaderValue); 4] = [
        (ETAG, file.etag.clone()),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    headers.into_iter().fold(answer, |answer, (name, value)| answer.with(name, value))
}

/// Relative links of a folder's page need the slash at its end.
fn moved(path: &str) -> Answer {
    let answer = text(StatusCode::PERMANENT_REDIRECT, String::new());
    match HeaderValue::from_str(&format!("{path}/")) {
        Ok(location) => answer.with(LOCATION, location),
        Err(_) => answer,
    }
}

fn kind_of(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "md" | "ts" | "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// What there is on this port: the embedded page, or a plain one.
pub(super) fn home(known: Option<&HeaderValue>) -> Answer {
    if BY_PATH.contains_key(&format!("/{INDEX}")) {
        return answer("/", known);
    }
    let links = [
        ("/brokers", "where pages reach the brokers, as JSON"),
        ("/cluster", "the cluster as this broker sees it, as JSON"),
        ("/metrics", "metrics for Prometheus"),
        ("/readyz", "whether this broker serves clients"),
    ];
    let items: String =
        links.iter().map(|(path, what)| format!("<li><a href=\"{path}\">{path}</a> {what}\n")).collect();
    let page = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><link rel=\"icon\" href=\"data:,\">\n\
         <title>Highwater</title>\n<style>:root {{ color-scheme: light dark }} \
         body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }}</style>\n\
         <h1>Highwater</h1>\n<ul>\n{items}</ul>\n"
    );
    body_of(StatusCode::OK, "text/html; charset=utf-8", page.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> BTreeMap<String, File> {
        let file = |path: &str, bytes: &'static [u8]| {
            let etag = HeaderValue::from_str(&format!("\"{}\"", bytes.len())).unwrap();
            (path.to_owned(), File { bytes, etag })
        };
        BTreeMap::from([
            file("/client/index.js", b"export {}"),
            file("/client/index.html", b"<p>"),
            file("/client/a.wasm", b"\0asm"),
        ])
    }

    fn check(path: &str) -> (u16, String) {
        let answer = serve(&files(), path, None).0;
        let kind = answer.headers().get(hyper::header::CONTENT_TYPE).unwrap().to_str().unwrap();
        (answer.status().as_u16(), kind.to_owned())
    }

    #[test]
    fn files_are_served_as_they_lie_with_their_kind() {
        assert_eq!(check("/client/index.js"), (200, "text/javascript; charset=utf-8".to_owned()));
        assert_eq!(check("/client/"), (200, "text/html; charset=utf-8".to_owned()));
        assert_eq!(check("/client/a.wasm"), (200, "application/wasm".to_owned()));
        for missing in ["/client/../secret", "/client/nothing.js", "/examples/", "/client//index.js"] {
            assert_eq!(check(missing).0, 404, "{missing}");
        }
    }

    #[test]
    fn a_folder_without_its_slash_is_moved_to_it() {
        let answer = serve(&files(), "/client", None).0;
        assert_eq!(
            (answer.status().as_u16(), answer.headers()[LOCATION].to_str().unwrap()),
            (308, "/client/")
        );
    }

    #[test]
    fn a_file_that_the_browser_has_is_not_sent_again() {
        let known = HeaderValue::from_static("\"9\"");
        assert_eq!(serve(&files(), "/client/index.js", Some(&known)).0.status().as_u16(), 304);
        let other = HeaderValue::from_static("\"8\"");
        assert_eq!(serve(&files(), "/client/index.js", Some(&other)).0.status().as_u16(), 200);
    }

    #[test]
    fn a_broker_without_the_package_says_how_to_build_it() {
        let answer = serve(&BTreeMap::new(), "/client/", None).0;
        assert_eq!(answer.status().as_u16(), 404);
        assert!(owns("/client") && owns("/examples/chat/") && !owns("/clients") && !owns("/"));
    }
}
