import type { Transport } from '../http/transport.ts';

/** The calls about one kind of data. */
export abstract class Resource {
  /** @internal */
  protected readonly transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.transport = transport;
  }
}
