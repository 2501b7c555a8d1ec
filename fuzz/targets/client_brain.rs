//! The client against brokers whose answers the input makes up: no panic, no call left open, and once they answer again all goes on.

#![no_main]

#[path = "../../crates/client-core/tests/world/mod.rs"]
mod world;

use std::time::Duration;

use bytes::Bytes;
use highwater_client_core::admin::AdminCall;
use highwater_client_core::{ProducerOptions, Start};
use highwater_fuzz::Choices;
use kafka_wire::{ApiKey, ErrorCode};
use world::{Fault, World, from_the_beginning, text, to_zero};

highwater_fuzz::target!(seeds, check);

const APIS: [ApiKey; 6] = [
    ApiKey::ApiVersions,
    ApiKey::Metadata,
    ApiKey::InitProducerId,
    ApiKey::Produce,
    ApiKey::ListOffsets,
    ApiKey::Fetch,
];

fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut world = World::new(u64::from(choices.byte()), 1 + i32::from(choices.byte() & 1));
    world.cluster.create("t", 1);
    for _ in 0..12 {
        if choices.is_empty() {
            break;
        }
        let (api, after) = (choices.one_of(&APIS), choices.below(3));
        let fault = fault(&mut choices);
        world.cluster.script(api, std::iter::repeat_n(None, after).chain([Some(fault)]));
    }
    let producer = world.producer(ProducerOptions::default());
    world.send(producer, &to_zero("t", "x")).ok();
    let call = world.call();
    world.brain.admin(world.clocks(), call, AdminCall::ListTopics);
    world.await_answer(call).ok();
    let Ok(consumer) = world.consumer(from_the_beginning("t")) else { return };
    world.send(producer, &to_zero("t", "y")).ok();
    world.run_for(Duration::from_secs(2));
    let Some(first) = world.cluster.values("t", 0).first().cloned() else { return };
    // Each of what was scripted may spoil one read at most: by a refusal, a wrong offset or a silence that it asks for.
    for _ in 0..20 {
        world.seek(consumer, "t", 0, Start::Earliest);
        if let Ok(record) = world.read(consumer) {
            return assert_eq!(text(&record), first);
        }
    }
    panic!("the client never reads again");
}

fn fault(choices: &mut Choices<'_>) -> Fault {
    let errors =
        [ErrorCode::NotLeaderOrFollower, ErrorCode::UnknownTopicOrPartition, ErrorCode::RequestTimedOut];
    match choices.below(10) {
        0 => Fault::CloseBefore,
        1 => Fault::CloseAfter,
        2 => Fault::Silence,
        3 => Fault::Refuse(choices.one_of(&errors)),
        4 => Fault::Throttle(i32::from(choices.byte())),
        _ => {
            // The correlation ids of early requests are small: many answers get as far as their body.
            let mut frame = i32::from(choices.byte()).to_be_bytes().to_vec();
            frame.extend_from_slice(choices.piece(300));
            Fault::Garbage(Bytes::from(frame))
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![vec![0, 1]];
    for (number, _) in (0..).zip(APIS) {
        for kind in 0..6 {
            seeds.push(vec![3, 1, number, 0, kind, 2, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
    }
    seeds
}
