// A double of the compiled engine: it answers nothing by itself, notes what it is asked, and can have a fault. Importing
// this module makes `./highwater.js` of the client lead here.

import { register } from 'node:module';

const here = import.meta.url;
const hook = `export async function resolve(specifier, context, next) {
  return specifier.endsWith('/highwater.js') ? { url: ${JSON.stringify(here)}, shortCircuit: true } : next(specifier, context);
}`;
if (!globalThis.engineDouble) register(`data:text/javascript,${encodeURIComponent(hook)}`);

// What tests look at and steer: the engines made, how `append` answers, how often the instance was made anew.
globalThis.engineDouble ??= { engines: [], resets: 0, loads: 0, append: () => 0, onPanic: undefined };
const double = globalThis.engineDouble;

export default async function init() {
  double.loads += 1;
}

export function on_panic(listener) {
  double.onPanic = listener;
}

export function __wbg_reset_state() {
  double.resets += 1;
}

export class Engine {
  asked = [];
  isFree = false;

  constructor(host, ...parts) {
    Object.assign(this, { host, parts });
    double.engines.push(this);
    // Every other method is only noted.
    return new Proxy(this, {
      get: (target, name) => (name in target ? Reflect.get(target, name) : (...parts) => void target.asked.push([name, ...parts])),
      set: (target, name, value) => Reflect.set(target, name, value),
    });
  }

  append(...parts) {
    return double.append(...parts);
  }

  topic_number() {
    return 0;
  }

  batch_partition() {
    return 2;
  }

  // As a panic looks like from outside: the hook is called, and then the call traps.
  fault(text) {
    double.onPanic(text);
    throw new WebAssembly.RuntimeError('unreachable');
  }

  free() {
    this.isFree = true;
  }
}
