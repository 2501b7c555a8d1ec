//! The consumer of everything: reads every partition without a group, and lets the book check each record.

use std::sync::Arc;
use std::time::Duration;

use highwater_client::{ConsumedRecord, Consumer};
use tokio::time::timeout;

use crate::Load;
use crate::book::{At, Fault, Number};

/// So often a consumer looks whether it is at the end.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Reads until the load is stopped and everything is read.
pub(crate) async fn run(load: Arc<Load>, mut consumer: Consumer) -> Result<(), Fault> {
    while !is_done(&load) {
        let Ok(record) = timeout(LOOK_EVERY, consumer.try_next()).await else { continue };
        if let Some(record) = record? {
            let (number, at) = parsed(&record)?;
            load.book(&record.topic)?.on_read(number, at)?;
        }
    }
    consumer.close().await?;
    Ok(())
}

fn is_done(load: &Load) -> bool {
    let [sent, _, read, _] = load.sums();
    load.is_all_sent() && read == sent
}

/// What a record says of itself, and where it is.
pub(crate) fn parsed(record: &ConsumedRecord) -> Result<(Number, At), Fault> {
    let ConsumedRecord { partition, offset, .. } = *record;
    let text = record.value.as_deref().and_then(|value| std::str::from_utf8(value).ok());
    let number = text.and_then(|text| {
        let (key, place) = text.split_once(' ')?;
        Some(Number { key: key.parse().ok()?, place: place.parse().ok()? })
    });
    let at = At { partition, offset };
    let number = number.ok_or_else(|| Fault::new(format!("the record at {at} is none that was sent")))?;
    Ok((number, at))
}
