/** Random operations of the Store, over so few IDs and values that they keep meeting each other. */
import type { GroupWrite, Status, UserWrite } from '@rollcall/protocol';
import type { Precondition, ProjectKey, Store, WriteContext } from '../../src/store/store.ts';
import type { Random } from './random.ts';

/** One operation, to be run on the engine and on the model alike. */
export interface Step {
  /** What it does, for the report of a failure. */
  readonly text: string;
  run(store: Store, project: ProjectKey): Promise<unknown>;
}

/** In ascending order they alternate between what UTF-16 and code points put first. */
export const USERS = ['ann', 'bob', "o'cid", '\u{ff21}', '\u{1f600}', '\u{1f600}x'] as const;
export const GROUPS = ['g', 'g/h', '\u{fb01}', '\u{1d306}'] as const;
/** What requests name: the users, and sometimes somebody who is never created. */
const NAMED = [...USERS, ...USERS, ...USERS, 'nobody'];

const STATUSES: readonly Status[] = ['active', 'deleted'];
const NAMES = ['One', 'Two', '"3"'];
const METADATA = [{}, { a: 1 }, { a: '\0', b: [null] }, JSON.parse('{"__proto__":1}')];
const EMAILS = ['a@example.org', 'b@example.org', '', null];
const PLACES = ['{"page":"1"}', '{"site":"1"}', '{"page":"1","paragraph":"7"}', '{"page":"2"}'];
const REGIONS = ['{"page":"1"}', '{"site":"s"}'];
const RECENT = 6;
/** Writers whose clocks differ by up to so many milliseconds: a later write may have an earlier time. */
const CLOCKS_APART_MS = 1_900;
const CLOCK_STEP_MS = 719;

/** Draws the steps of one project. */
export class StepSource {
  readonly #random: Random;
  #steps = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** A write, with a context that no other has. */
  write(): Step {
    const draw = this.#random.next() * 100;
    if (draw < 18) return this.#putGroup();
    if (draw < 34) return this.#putUser();
    if (draw < 50) return this.#changeMembers();
    if (draw < 66) return this.#batch();
    if (draw < 80) return this.#putPresence();
    if (draw < 86) return this.#putPreferences();
    if (draw < 90) return this.#connectGroup();
    return draw < 95 ? this.#deleteGroup() : this.#deleteUser();
  }

  #putGroup(): Step {
    const [id, write, context] = [this.#random.pick(GROUPS), this.#groupWrite(), this.#context()];
    return step('putGroup', [id, write, context], (store, project) =>
      store.putGroup(project, id, write, context),
    );
  }

  #groupWrite(): GroupWrite {
    const random = this.#random;
    const fields = {
      name: random.pick(NAMES),
      status: random.pick(STATUSES),
      metadata: random.pick(METADATA),
      members: random.some(NAMED, 5),
    };
    return random.sparse(fields, 0.45);
  }

  #putUser(): Step {
    const [id, write, context] = [this.#random.pick(USERS), this.#userWrite(), this.#context()];
    return step('putUser', [id, write, context], (store, project) =>
      store.putUser(project, id, write, context),
    );
  }

  #userWrite(): UserWrite {
    const random = this.#random;
    const fields = {
      name: random.pick(NAMES),
      short_name: random.pick([...NAMES, null]),
      email: random.pick(EMAILS),
      profile_picture_url: random.pick(['http://example.org/', null]),
      status: random.pick(STATUSES),
      metadata: random.pick(METADATA),
    };
    return random.sparse(fields, 0.6);
  }

  #changeMembers(): Step {
    const [id, context] = [this.#random.pick(GROUPS), this.#context()];
    const add = this.#random.some(NAMED, 4);
    // The port promises that the lists have no user in common.
    const remove = this.#random.some(NAMED, 3).filter((user) => !add.includes(user));
    return step('changeMembers', [id, { add, remove }, context], (store, project) =>
      store.changeMembers(project, id, { add, remove }, context),
    );
  }

  #batch(): Step {
    const random = this.#random;
    const users: object[] = random.some(USERS, 5).map((id) => ({ id, ...this.#userWrite() }));
    const groups: object[] = random
      .some(GROUPS, 3)
      .map((id) => ({ id, name: random.pick(NAMES), ...this.#groupWrite() }));
    if (random.chance(0.1)) groups.push({ id: random.pick(GROUPS), members: random.some(NAMED, 3) });
    if (random.chance(0.05)) users.push(random.pick([{ name: 'N' }, { id: 7 }, { id: 'ann', nick: 'A' }]));
    const text = random.chance(0.03) ? '{"users":[' : JSON.stringify({ users, groups });
    const [dryRun, context] = [random.chance(0.15), this.#context({})];
    return step(dryRun ? 'dry batch' : 'batch', [text, context], (store, project) =>
      store.applyBatch(project, { body: Buffer.from(text), dryRun }, context),
    );
  }

  #putPresence(): Step {
    const random = this.#random;
    const location = random.pick(PLACES);
    const update = {
      userId: random.pick(NAMED),
      groupId: random.pick(GROUPS),
      region: random.chance(0.5) ? location : random.pick(REGIONS),
      location,
    };
    const context = this.#context({});
    return step('putDurablePresence', [update, context], (store, project) =>
      store.putDurablePresence(project, update, context),
    );
  }

  #putPreferences(): Step {
    const random = this.#random;
    const id = random.pick(NAMED);
    const channels = random.sparse(
      { sendViaMessenger: random.chance(0.5), sendViaEmail: random.chance(0.5) },
      0.4,
    );
    return step('putPreferences', [id, channels], (store, project) =>
      store.putPreferences(project, id, channels),
    );
  }

  #connectGroup(): Step {
    const [id, workspace, context] = [
      this.#random.pick(GROUPS),
      this.#random.pick(['W', null]),
      this.#context({}),
    ];
    return step('connectGroup', [id, workspace, context], (store, project) =>
      store.connectGroup(project, id, workspace, context),
    );
  }

  #deleteGroup(): Step {
    const [id, context] = [this.#random.pick(GROUPS), this.#context()];
    return step('deleteGroup', [id, context], (store, project) => store.deleteGroup(project, id, context));
  }

  #deleteUser(): Step {
    const [id, context] = [this.#random.pick(USERS), this.#context()];
    return step('deleteUser', [id, context], (store, project) => store.deleteUser(project, id, context));
  }

  #context(condition = this.#condition()): WriteContext {
    this.#steps += 1;
    const behindMs = (this.#steps * CLOCK_STEP_MS) % CLOCKS_APART_MS;
    return { ...condition, now: this.#steps * 1_000 - behindMs, revision: `r${this.#steps}` };
  }

  /** Mostly none; otherwise about revisions of the last few writes, so that some of them hold. */
  #condition(): Precondition {
    if (this.#random.chance(0.7)) return {};
    const wanted = () => (this.#random.chance(0.3) ? '*' : this.#random.some(this.#recentRevisions(), 4));
    // Together they may fail in two ways at once, and which of them is answered is not settled.
    return this.#random.chance(0.6) ? { ifMatch: wanted() } : { ifNoneMatch: wanted() };
  }

  #recentRevisions(): string[] {
    return Array.from({ length: RECENT }, (_, index) => `r${this.#steps - index}`);
  }
}

function step(name: string, parameters: readonly unknown[], run: Step['run']): Step {
  return { text: `${name}(${parameters.map((parameter) => JSON.stringify(parameter)).join(', ')})`, run };
}
