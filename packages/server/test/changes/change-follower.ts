import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChangeList, RecordedChange } from '@rollcall/protocol';
import { expectOk } from '../support/expect.ts';
import type { Project } from '../support/project-client.ts';
import { ChangeReplay } from './change-replay.ts';

/** Before a page that was answered 503 is read again, in milliseconds. */
const PAUSE_MS = 20;

/** The request after which there are no more changes: a write that was sent after all others were answered. */
export const LAST_REQUEST = 'last';

/**
 * Reads the changes of a project without pause, and checks what can be checked on the way: that none comes twice, that those
 * of one request stand together, that those of a writer stand in the order of its requests, and that each one fits what was
 * there before.
 */
export class ChangeFollower {
  readonly replay = new ChangeReplay();
  /** Users and other changes that were read: a change of 1,000 members counts as one. */
  count = 0;
  /** The IDs of all changes, to compare readers with each other. */
  readonly ids: string[] = [];
  readonly #seen = new Set<string>();
  readonly #project: Project;
  readonly #limits: readonly number[];
  readonly #finished = new Set<string>();
  readonly #lastOf = new Map<string, number>();
  #request: string | null = null;

  readonly #isPatient: boolean;

  /** `limits`: the sizes of its pages, in turn. `isPatient`: a page that is answered 503 is read again. */
  constructor(project: Project, limits: readonly number[], isPatient: boolean) {
    this.#project = project;
    this.#limits = limits;
    this.#isPatient = isPatient;
  }

  /** Reads to the end of the change with {@link LAST_REQUEST}. */
  async follow(): Promise<void> {
    for (let after = '', page = 0; this.#request !== LAST_REQUEST; page += 1) {
      const limit = this.#limits[page % this.#limits.length];
      const path = `/v1/changes?limit=${limit}${after && `&after=${after}`}`;
      const answer = await this.#project.get(path);
      if (this.#isPatient && answer.status === 503) {
        await delay(PAUSE_MS);
        continue;
      }
      const { changes, next, more } = expectOk<ChangeList>(answer);
      for (const change of changes) this.#take(change);
      if (changes.length > 0)
        assert.equal(next, changes.at(-1)?.id, 'without a filter a page ends with its last change');
      assert.ok(changes.length > 0 || !more);
      after = next;
    }
  }

  #take(change: RecordedChange): void {
    assert.ok(!this.#seen.has(change.id), `${change.id} comes twice`);
    this.#seen.add(change.id);
    this.ids.push(change.id);
    this.count += 1;
    this.#checkRequest(change);
    this.replay.apply(change);
  }

  #checkRequest({ id, request_id: request }: RecordedChange): void {
    if (request === this.#request) return;
    assert.ok(request !== null && !this.#finished.has(request), `${id}: ${request} does not stand together`);
    if (this.#request !== null) this.#finished.add(this.#request);
    this.#request = request;
    const [writer = '', index = ''] = request.split(':');
    const before = this.#lastOf.get(writer) ?? -1;
    assert.ok(!(Number(index) <= before), `${request} stands after ${writer}:${before}`);
    this.#lastOf.set(writer, Number(index));
  }
}
