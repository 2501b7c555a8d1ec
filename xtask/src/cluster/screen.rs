//! What a person sees when the cluster is ready: where it is, and what to type next.

use std::path::Path;
use std::time::Duration;

use super::layout::Layout;
use super::node::Running;
use super::ready::{self, Status};

const HEADINGS: [&str; 5] = ["node", "kafka", "quic", "http", "data"];

/// The table of nodes, the state of the cluster and the next commands.
pub(crate) fn ready(
    layout: &Layout,
    running: &[Running],
    status: &Status,
    took: Duration,
    runs_a_task: bool,
) -> String {
    let mut text = table(layout);
    for (node, hash) in &status.certificates {
        text.push_str(&format!("   node {node} shows browsers the certificate {hash} (SHA-256)\n"));
    }
    text.push_str(&format!(
        "   ready in {:.1} s: {} of {} nodes, controller is node {}.",
        took.as_secs_f64(),
        status.nodes,
        layout.nodes.len(),
        status.controller
    ));
    if !runs_a_task {
        text.push_str(" Ctrl-C stops all; --fresh starts empty.\n");
        text.push_str(&pages(layout));
        text.push_str(&suggestions(layout, running));
    }
    text
}

fn table(layout: &Layout) -> String {
    let rows: Vec<[String; 5]> = layout
        .nodes
        .iter()
        .map(|node| {
            let kafka = format!("127.0.0.1:{}", node.ports.kafka);
            let http = format!("http://127.0.0.1:{}", node.ports.http);
            [node.id.to_string(), kafka.clone(), kafka, http, shortened(&node.data_dir)]
        })
        .collect();
    let headings = HEADINGS.map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().chain([&headings]).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |row: &[String; 5]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("   {}", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    std::iter::once(&headings).chain(&rows).map(|row| line(row) + "\n").collect()
}

/// How a person brings a broker back that has ended.
pub(crate) fn start_again(layout: &Layout, node: u16) -> String {
    let command = layout.nodes.iter().find(|known| known.id == node).map(|node| node.command(&layout.binary));
    format!("   again {} &", command.unwrap_or_default().join(" "))
}

/// A path as short as it can be from here.
fn shortened(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

/// The web pages to try; nothing if the binary was built without them.
fn pages(layout: &Layout) -> String {
    let first = layout.nodes.first().map(|node| node.ports.http);
    let Some(port) = first.filter(|port| ready::answers_ok(*port, "/examples/chat/")) else {
        return String::new();
    };
    let [chat, dashboard] =
        ["chat", "dashboard"].map(|name| format!("http://127.0.0.1:{port}/examples/{name}/"));
    format!("\n   open  {chat}\n         {dashboard}\n")
}

fn suggestions(layout: &Layout, running: &[Running]) -> String {
    let designed = layout.nodes.first().is_some_and(|node| node.ports.kafka == 9092);
    let mut lines = Vec::new();
    if let Some(folder) = layout.binary.parent() {
        lines.push(format!("export PATH={}:$PATH", shortened_folder(folder)));
    }
    if !designed {
        lines.push(format!("export HIGHWATER_BOOTSTRAP={}", layout.bootstrap()));
    }
    lines.extend(
        [
            "highwater topic create orders --partitions 6",
            "seq 1000000 | highwater produce orders",
            "highwater consume orders --from beginning --count 3",
        ]
        .map(str::to_owned),
    );
    lines.extend(killing(running));
    let block = lines.join("\n         ");
    format!("\n   try   {block}\n")
}

/// The command that takes a broker away: the last one, since what commands and pages are told of is the first. Two or fewer are not
/// worth it: the one that is left has no majority.
fn killing(running: &[Running]) -> Option<String> {
    let last = running.last().filter(|_| running.len() > 2)?;
    Some(format!("kill -9 {}     # node {}; the others take over", last.pid, last.node))
}

/// What a person reads when Ctrl-C has ended the cluster.
pub(crate) fn stopped(layout: &Layout, brokers: usize) -> String {
    format!("   {}", closing(brokers, &shortened(&layout.data_dir)))
}

fn closing(brokers: usize, folder: &str) -> String {
    let brokers = if brokers == 1 { "1 broker".to_owned() } else { format!("{brokers} brokers") };
    format!("stopped {brokers}; the data stays in {folder}, and the next cargo xtask cluster goes on with it")
}

fn shortened_folder(folder: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    folder
        .strip_prefix(&here)
        .map_or_else(|_| folder.display().to_string(), |inside| format!("$PWD/{}", inside.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_that_nobody_was_told_of_is_the_one_to_kill() {
        let nodes = |count| (1..=count).map(|node| Running::pretended(node, 100 + u32::from(node)));
        let shown = |count| killing(&nodes(count).collect::<Vec<_>>());
        assert_eq!(shown(3).as_deref(), Some("kill -9 103     # node 3; the others take over"));
        assert_eq!(shown(5).as_deref(), Some("kill -9 105     # node 5; the others take over"));
        assert_eq!((shown(2), shown(1)), (None, None), "nobody could take over");
    }

    #[test]
    fn the_last_line_says_what_was_stopped_and_what_is_left() {
        let rest = "the data stays in d, and the next cargo xtask cluster goes on with it";
        assert_eq!(closing(3, "d"), format!("stopped 3 brokers; {rest}"));
        assert_eq!(closing(1, "d"), format!("stopped 1 broker; {rest}"));
    }
}
