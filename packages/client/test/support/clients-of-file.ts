/** Clients that are closed after the tests of a file. */
import { after } from 'node:test';
import type { Rollcall, RollcallClient } from '../../src/index.ts';

/** Returns a function that registers a client: it is closed after the tests, also after a failed one. */
export function clientsOfFile(): <Client extends Rollcall | RollcallClient>(client: Client) => Client {
  const clients: (Rollcall | RollcallClient)[] = [];
  after(() => Promise.all(clients.map((client) => client.close())));
  return (client) => {
    clients.push(client);
    return client;
  };
}
