/** A client that writes and reads presence in one project. */
import assert from 'node:assert/strict';
import type { Location, PresenceEntry } from '@rollcall/protocol';
import { expectDone, expectOk } from './expect.ts';
import type { Answer } from './http-client.ts';
import type { MovedClock } from './moved-clock.ts';
import { type Project, segment } from './project-client.ts';

export type { Location };

/** A process does all work that is due in a second within fewer round trips than these. */
const READINGS_A_SECOND = 4;

type Entry = PresenceEntry;

export interface PresencePage {
  readonly users: Entry[];
  readonly pagination: { readonly token: string | null };
}

/** The location `{page}`, with further pairs. */
export const pageLocation = (number: number, more: Location = {}): Location => ({
  page: String(number),
  ...more,
});

/** The optional fields of a presence update. */
export interface Update {
  readonly exclusiveWithin?: Location;
  readonly durable?: boolean;
  readonly absent?: boolean;
}

/** Presence in the group `g`, or in the group that a call names. */
export class Presence {
  readonly project: Project;

  constructor(project: Project) {
    this.project = project;
  }

  /** In a new project: a, b and c are members of the groups g and h, x of none. */
  static async inNewProject(server: { project(): Promise<Project> }): Promise<Presence> {
    const project = await server.project();
    await project.seed({
      users: ['a', 'b', 'c', 'x'].map((id) => ({ id })),
      groups: ['g', 'h'].map((id) => ({ id, name: id, members: ['a', 'b', 'c'] })),
    });
    return new Presence(project);
  }

  put(userId: string, body: Record<string, unknown>): Promise<Answer> {
    return this.project.put(`/v1/users/${segment(userId)}/presence`, { groupID: 'g', ...body });
  }

  async set(userId: string, location: Location, update: Update = {}): Promise<void> {
    expectDone(await this.put(userId, { location, ...update }), userId);
  }

  async setAbsent(userId: string, location: Location): Promise<void> {
    expectDone(await this.put(userId, { location, absent: true }), userId);
  }

  async page(query: Record<string, string> = {}, groupId = 'g'): Promise<PresencePage> {
    const path = `/v1/groups/${segment(groupId)}/presence?${new URLSearchParams(query)}`;
    const page = expectOk<PresencePage>(await this.project.get(path));
    assert.deepEqual(Object.keys(page).sort(), ['pagination', 'users']);
    assert.deepEqual(Object.keys(page.pagination), ['token']);
    return page;
  }

  async everyone(groupId = 'g'): Promise<Entry[]> {
    return (await this.page({}, groupId)).users;
  }

  /** The ephemeral locations, by user ID. */
  async ephemeral(groupId = 'g'): Promise<Record<string, Location[]>> {
    const users = await this.everyone(groupId);
    return Object.fromEntries(
      users
        .filter(({ ephemeral }) => ephemeral.locations.length > 0)
        .map(({ id, ephemeral }) => [id, ephemeral.locations]),
    );
  }

  /**
   * Moves the clock of the server second by second. The work that is due in a second is done before the next second
   * begins, however busy the machine is: the readings use both engines.
   */
  async pass(clock: MovedClock, seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      clock.move(1_000);
      for (let reading = 0; reading < READINGS_A_SECOND; reading += 1) {
        await this.project.get('/v1/groups/g/presence');
      }
    }
  }

  /** The ephemeral locations of a user in the group `g`. */
  async locationsOf(userId: string): Promise<Location[]> {
    return (await this.ephemeral())[userId] ?? [];
  }

  async entryOf(userId: string, groupId = 'g'): Promise<Entry> {
    const path = `/v1/users/${segment(userId)}/presence?groupID=${encodeURIComponent(groupId)}`;
    return expectOk<Entry>(await this.project.get(path));
  }
}

/** Sorts locations, to compare them without their order. */
export const sorted = (locations: readonly Location[]) =>
  [...locations].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
