//! Shards' numbers in Prometheus' text format: one family a name, one line a shard and label.

use std::collections::BTreeMap;
use std::fmt::Write;

use broker_core::Metric;

use crate::links::ShardReport;

/// Adds the numbers of all shards.
pub(crate) fn write(text: &mut String, reports: &[ShardReport]) {
    let mut families: BTreeMap<&str, (bool, Vec<String>)> = BTreeMap::new();
    for report in reports {
        let mut take = |metric: Metric| {
            let family = families.entry(metric.name).or_insert((metric.is_counter, Vec::new()));
            family.1.push(line(report, &metric));
        };
        report.metrics.each(&mut take);
        report.gauges.each(&mut take);
        driver(report).into_iter().for_each(take);
    }
    for (name, (is_counter, lines)) in families {
        let kind = if is_counter { "counter" } else { "gauge" };
        writeln!(text, "# TYPE {name} {kind}").expect("writing into a text does not fail");
        text.extend(lines);
    }
}

/// What the driver of a shard counts beside it. The names are for ever, as those of the shard are.
fn driver(report: &ShardReport) -> [Metric; 2] {
    let gauge = |name, value| Metric { name, label: None, is_counter: false, value };
    [gauge("highwater_tasks", report.tasks), gauge("highwater_replica_streams", report.replica_streams)]
}

fn line(report: &ShardReport, metric: &Metric) -> String {
    let label = metric.label.map(|(name, value)| format!(",{name}=\"{value}\"")).unwrap_or_default();
    format!("{}{{shard=\"{}\"{label}}} {}\n", metric.name, report.shard, metric.value)
}
