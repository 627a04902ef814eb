/** A host that sets and reads presence in one project. */
import assert from 'node:assert/strict';
import type { Location, PresenceEntry, Static } from '@rollcall/protocol';
import { expectDone, expectOk } from './expect.ts';
import type { Answer } from './http-client.ts';
import { type Project, segment } from './project-client.ts';

export type Place = Static<typeof Location>;
type Entry = PresenceEntry;

export interface PresencePage {
  readonly users: Entry[];
  readonly pagination: { readonly token: string | null };
}

/** A page of a book. */
export const pagePlace = (number: number, more: Place = {}): Place => ({ page: String(number), ...more });

/** What of a presence update a test chooses. */
export interface Update {
  readonly exclusiveWithin?: Place;
  readonly durable?: boolean;
  readonly absent?: boolean;
}

/** Presence in the group `g`, unless a call names another. */
export class Presence {
  readonly project: Project;

  constructor(project: Project) {
    this.project = project;
  }

  /** In a new project, in which a, b and c are members of the groups g and h, and x of none. */
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

  async set(userId: string, location: Place, update: Update = {}): Promise<void> {
    expectDone(await this.put(userId, { location, ...update }), userId);
  }

  async setAbsent(userId: string, location: Place): Promise<void> {
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

  /** Who is where ephemerally: IDs with locations. */
  async ephemeral(groupId = 'g'): Promise<Record<string, Place[]>> {
    const users = await this.everyone(groupId);
    return Object.fromEntries(
      users
        .filter(({ ephemeral }) => ephemeral.locations.length > 0)
        .map(({ id, ephemeral }) => [id, ephemeral.locations]),
    );
  }

  /** Where the user is in the group, ephemerally. */
  async placesOf(userId: string): Promise<Place[]> {
    return (await this.ephemeral())[userId] ?? [];
  }

  async entryOf(userId: string, groupId = 'g'): Promise<Entry> {
    const path = `/v1/users/${segment(userId)}/presence?groupID=${encodeURIComponent(groupId)}`;
    return expectOk<Entry>(await this.project.get(path));
  }
}

/** Locations without regard to their order. */
export const sorted = (places: readonly Place[]) =>
  [...places].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
