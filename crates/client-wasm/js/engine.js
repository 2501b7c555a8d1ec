// The WebAssembly module: loaded once, and made anew if it ever has a fault.

import init, { Engine, on_panic, __wbg_reset_state } from './highwater.js';
import { HighwaterError } from './errors.js';

let loading;
let isFaulty = false;
const cores = new Set();

// Makes the module ready. `source` is for places where it cannot be fetched: its bytes, or whatever else
// `WebAssembly.instantiate` takes.
export async function load(source) {
  loading ??= init({ module_or_path: source ?? new URL('./highwater_bg.wasm', import.meta.url) });
  try {
    await loading;
  } catch (cause) {
    loading = undefined;
    throw new HighwaterError('MODULE', `the WebAssembly module cannot be loaded: ${cause.message}`, { cause, retriable: true });
  }
  if (isFaulty) __wbg_reset_state();
  isFaulty = false;
  on_panic(panicked);
}

export function makeEngine(core, ...parts) {
  cores.add(core);
  return new Engine(core, ...parts);
}

export function forget(core) {
  cores.delete(core);
}

// An engine has trapped: nothing of this instance may be called any more, by anybody.
export function trapped(error) {
  if (!isFaulty) panicked(error.message);
}

// Called from inside the engine, before it traps.
function panicked(text) {
  isFaulty = true;
  const fault = new HighwaterError('INTERNAL', `the client had a fault and has stopped; please report it: ${text}`);
  for (const core of cores) core.poison(fault);
  cores.clear();
}
