// @highwater/client: a browser tab as a client of Highwater. Types and documentation stand in `index.d.ts`.

export { connect, load, Client } from './client.js';
export { Admin } from './admin.js';
export { Consumer } from './consumer.js';
export { HighwaterError } from './errors.js';
export { Producer } from './producer.js';
export { ConsumedRecord } from './records.js';
