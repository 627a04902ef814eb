import { after, afterEach } from 'node:test';
import { type ClockedServer, clockedServer } from '../support/clocked-server.ts';
import type { StreamEvent } from '../support/event-parser.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { type Location, Presence } from '../support/presence-client.ts';
import { StreamReader } from '../support/stream-reader.ts';

export const PAGE_1: Location = { page: '1' };
export const PAGE_2: Location = { page: '2' };
export const LINE: Location = { page: '1', line: '1' };
export const PARTIAL_PAGE_1 = { location: JSON.stringify(PAGE_1), partial_match: 'true' };

/** An event without its ID. */
export const bare = ({ type, data }: StreamEvent) => ({ type, ...data });

/** A server with the groups `g` and `h`, of which all users are members. */
export class StreamCase {
  readonly clock = new MovedClock();
  readonly server: ClockedServer = clockedServer({ clock: this.clock });
  #readers: StreamReader[] = [];

  constructor() {
    const closeAll = () => {
      for (const reader of this.#readers.splice(0)) reader.close();
    };
    afterEach(closeAll);
    after(closeAll);
  }

  async presence(...ids: string[]): Promise<Presence> {
    const project = await this.server.project();
    await project.seed({
      users: ids.map((id) => ({ id })),
      groups: ['g', 'h'].map((id) => ({ id, name: id.toUpperCase(), members: ids })),
    });
    return new Presence(project);
  }

  /** A stream of `g`, closed after the test. */
  async open(
    { project }: Presence,
    query: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<StreamReader> {
    const path = `/v1/groups/g/presence?${new URLSearchParams(query)}`;
    const reader = await StreamReader.open(project, path, headers);
    this.#readers.push(reader);
    return reader;
  }

  /** The same, after its snapshot was received. */
  async watch(presence: Presence, query: Record<string, string> = {}): Promise<StreamReader> {
    const reader = await this.open(presence, query);
    await reader.snapshot();
    return reader;
  }
}
