//! Deliberate breaches of single rules, as the tests of this crate switch them on: for one thread, in any test build.

pub(crate) use log_core::mutation::Mutation;

#[cfg(not(test))]
pub(crate) use log_core::mutation::on;

#[cfg(test)]
pub(crate) use self::switch::{on, with};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod switch {
    use core::cell::Cell;

    use super::Mutation;

    std::thread_local! {
        static ON: Cell<Option<Mutation>> = const { Cell::new(None) };
    }

    pub(crate) fn on(mutation: Mutation) -> bool {
        ON.get() == Some(mutation)
    }

    /// Runs `body` with `mutation` on.
    pub(crate) fn with<T>(mutation: Option<Mutation>, body: impl FnOnce() -> T) -> T {
        struct Off;
        impl Drop for Off {
            fn drop(&mut self) {
                ON.set(None);
            }
        }
        let _off = Off;
        ON.set(mutation);
        body()
    }
}
