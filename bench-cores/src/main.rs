//! Does one work, named by the argument, for whoever counts instructions: once unseen, so that what happens only the first time is not
//! counted, then once inside `counted_by_callgrind`. Without an argument it names the works.

use std::hint::black_box;
use std::process::ExitCode;

use highwater_bench_cores::{PORTABLE, portable_sum};

mod arena;

#[global_allocator]
static MEMORY: arena::Arena = arena::Arena::new();

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        PORTABLE.iter().for_each(|work| println!("{}", work.name));
        return ExitCode::SUCCESS;
    };
    let Some(work) = PORTABLE.iter().find(|work| work.name == name) else {
        eprintln!("there is no work {name}");
        return ExitCode::FAILURE;
    };
    let mut work = (work.make)(portable_sum);
    work();
    counted_by_callgrind(black_box(&mut *work));
    ExitCode::SUCCESS
}

/// `cargo xtask guard` names this function to callgrind, which counts what happens inside and below.
#[inline(never)]
fn counted_by_callgrind(work: &mut dyn FnMut()) {
    work();
    black_box(());
}
