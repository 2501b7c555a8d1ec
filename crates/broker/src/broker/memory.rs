//! A broker that keeps everything in memory: Control and its one shard on one thread, on a disk and a quorum that answer at once.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use broker_core::control::{Control, ControlConfig};
use broker_core::{ExitCode, Limits, ShardConfig, ShardId};
use log_core::{BrokerId, ClusterId, DirectoryId, Incarnation};
use log_store::MemoryDisk;
use metadata_core::controller::FEATURE_LEVEL_CALM;
use metadata_core::record::FEATURE_LEVEL_MAX;
use metadata_core::{Endpoint, Listener, QuorumMember, SoloQuorum};
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_local;

use super::{Clients, Started, runtime};
use crate::boot;
use crate::clock::Clock;
use crate::config::Config;
use crate::control_host::ControlHost;
use crate::joining::Gate;
use crate::links::{ControlSender, Links, Standing, ToControl, ToShard};
use crate::peers::ControlPeers;
use crate::shard_loads::ShardLoads;
use crate::shard_thread;

/// The thread of a broker in memory: Control and its one shard together.
pub(super) fn serve(
    control: ControlSender,
    inbox: mpsc::UnboundedReceiver<ToControl>,
    standing: watch::Sender<Standing>,
    started: Started<Clients>,
) -> ExitCode {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = started.send(Err(error));
            return ExitCode::Clean;
        }
    };
    shard_thread::block_on(&runtime, async move {
        let clock = Clock::start();
        let disk = MemoryDisk::new();
        let (sender, receiver) = mpsc::unbounded_channel();
        let config = control_config();
        let own = QuorumMember { directory: config.directory, broker: config.broker, addresses: vec![] };
        let made = Control::open(clock.now(), config, disk.another_handle(), |applied| {
            SoloQuorum::new(applied, own)
        });
        let control_value = match made {
            Ok(made) => made,
            Err(error) => {
                let _ = started.send(Err(error.into()));
                return ExitCode::Clean;
            }
        };
        let host = ControlHost::new(
            control_value,
            vec![sender.clone()],
            ControlPeers::new(None, None, Gate::default()),
            clock,
            standing,
        );
        let (shards, loads) = (vec![sender.clone()], ShardLoads::new(1));
        let links = Links { shard: ShardId(0), control, shards, loads };
        let shard = shard_config();
        spawn_local(shard_thread::serve_memory(shard, disk, links, receiver, clock));
        let (connect, mut arriving) = mpsc::unbounded_channel();
        spawn_local(async move {
            while let Some(stream) = arriving.recv().await {
                // A shard that is gone drops the stream, which the client sees.
                let _ = sender.send(ToShard::Memory(stream));
            }
        });
        let connect = move |stream| {
            // A broker that has ended drops the stream, which the client sees.
            let _ = connect.send(stream);
        };
        let _ = started.send(Ok(Clients { connect: Arc::new(connect) }));
        drive(&host, inbox).await
    })
}

/// How often a broker in memory looks at its disk and its quorum: they have answered before they are asked, and wake nobody.
pub(crate) const LOOK: Duration = Duration::from_millis(1);

async fn drive(
    host: &Rc<ControlHost<MemoryDisk, SoloQuorum>>,
    inbox: mpsc::UnboundedReceiver<ToControl>,
) -> ExitCode {
    let looking = Rc::clone(host);
    spawn_local(async move {
        loop {
            looking.with(|control, now| {
                control.handle_quorum(now);
                control.handle_disk(now);
            });
            tokio::time::sleep(LOOK).await;
        }
    });
    host.run(inbox).await.0
}

fn control_config() -> ControlConfig {
    ControlConfig {
        broker: BrokerId(1),
        directory: DirectoryId([1; 16]),
        cluster_id: ClusterId([1; 16]),
        forms: true,
        incarnation: Incarnation(1),
        clean: true,
        rack: None,
        endpoints: vec![Endpoint { listener: Listener::Kafka, host: "memory".to_owned(), port: 0 }],
        shards: 1,
        feature_level_max: FEATURE_LEVEL_MAX,
        feature_level_calm: FEATURE_LEVEL_CALM,
        cluster_configs: Vec::new(),
        seed: crate::random::bytes(),
        crc: boot::CRC,
    }
}

fn shard_config() -> ShardConfig {
    ShardConfig {
        limits: Limits::default(),
        log_dir: "memory".into(),
        reserve_bytes: 0,
        ..boot::shard_config(&Config::default(), BrokerId(1), true, 0, 1)
    }
}
