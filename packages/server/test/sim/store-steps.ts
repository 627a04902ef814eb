/** Random operations of the Store, over few IDs and values, so that they often conflict. */

import type { GroupWrite, Status, UserWrite } from '@rollcall/protocol';
import type { Precondition } from '../../src/store/precondition.ts';
import { toStored } from '../../src/store/stored-write.ts';
import type { ConditionalContext } from '../../src/store/write-context.ts';
import { BY_TEST, CONTEXT } from '../support/origin.ts';
import { ConversationSteps } from './conversation-steps.ts';
import type { Random } from './random.ts';
import { GROUPS, LOCATIONS, METADATA, NAMED, NAMES, type Step, step, USERS } from './steps.ts';

const STATUSES: readonly Status[] = ['active', 'deleted'];
const EMAILS = ['a@example.org', 'b@example.org', '', null];
const REGIONS = ['{"page":"1"}', '{"site":"s"}'];
const RECENT = 6;
/** How many of the operations are about threads and messages. */
const CONVERSATION = 0.4;
/** Writers whose clocks differ by up to so many milliseconds: a later write may have an earlier time. */
const CLOCKS_APART_MS = 1_900;
const CLOCK_STEP_MS = 719;

/** Draws the steps of one project. */
export class StepSource {
  readonly #random: Random;
  readonly #conversation: ConversationSteps;
  #steps = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#conversation = new ConversationSteps(random, (condition) => this.#context(condition));
  }

  /** A write, with a context that no other has. */
  write(): Step {
    if (this.#steps === 0) return this.#allResources();
    if (this.#random.chance(CONVERSATION)) return this.#conversation.write();
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
      store.groups.put(project, id, toStored(write), context),
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
      store.users.put(project, id, toStored(write), context),
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
      store.members.change(project, id, { add, remove }, context),
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
      store.batches.apply(project, { body: Buffer.from(text), dryRun }, context),
    );
  }

  /** Creates all users and groups: the first step, so that later steps have resources to change. */
  #allResources(): Step {
    const users = USERS.map((id) => ({ id }));
    const groups = GROUPS.map((id) => ({ id, name: id, members: USERS }));
    const [text, context] = [JSON.stringify({ users, groups }), this.#context({})];
    return step('batch', [text, context], (store, project) =>
      store.batches.apply(project, { body: Buffer.from(text), dryRun: false }, context),
    );
  }

  #putPresence(): Step {
    const context = this.#context({});
    if (this.#random.chance(0.4)) {
      const updates = Array.from({ length: Math.floor(this.#random.next() * 8) }, () =>
        this.#durableUpdate(),
      );
      return step('putManyDurablePresences', [updates, context], (store, project) =>
        store.durablePresence.putMany(project, updates, context),
      );
    }
    const update = this.#durableUpdate();
    return step('putDurablePresence', [update, context], (store, project) =>
      store.durablePresence.put(project, update, context),
    );
  }

  #durableUpdate() {
    const random = this.#random;
    const location = random.pick(LOCATIONS);
    return {
      userId: random.pick(NAMED),
      groupId: random.pick(GROUPS),
      region: random.chance(0.5) ? location : random.pick(REGIONS),
      location,
    };
  }

  #putPreferences(): Step {
    const random = this.#random;
    const id = random.pick(NAMED);
    const channels = random.sparse(
      { sendViaMessenger: random.chance(0.5), sendViaEmail: random.chance(0.5) },
      0.4,
    );
    return step('putPreferences', [id, channels], (store, project) =>
      store.preferences.put(project, id, channels, CONTEXT),
    );
  }

  #connectGroup(): Step {
    const [id, workspace, context] = [
      this.#random.pick(GROUPS),
      this.#random.pick(['W', null]),
      this.#context({}),
    ];
    return step('connectGroup', [id, workspace, context], (store, project) =>
      store.groups.connect(project, id, workspace, context),
    );
  }

  #deleteGroup(): Step {
    const [id, context] = [this.#random.pick(GROUPS), this.#context()];
    return step('deleteGroup', [id, context], (store, project) => store.groups.delete(project, id, context));
  }

  #deleteUser(): Step {
    const [id, context] = [this.#random.pick(USERS), this.#context()];
    return step('deleteUser', [id, context], (store, project) => store.users.delete(project, id, context));
  }

  #context(condition = this.#condition()): ConditionalContext {
    this.#steps += 1;
    const behindMs = (this.#steps * CLOCK_STEP_MS) % CLOCKS_APART_MS;
    return { ...condition, now: this.#steps * 1_000 - behindMs, revision: `r${this.#steps}`, ...BY_TEST };
  }

  /** Mostly no precondition; otherwise one with revisions of the last few writes, so that some match. */
  #condition(): Precondition {
    if (this.#random.chance(0.7)) return {};
    const wanted = () => (this.#random.chance(0.3) ? '*' : this.#random.some(this.#recentRevisions(), 4));
    // Both together can fail in two ways, and the contract does not define which is the outcome.
    return this.#random.chance(0.6) ? { ifMatch: wanted() } : { ifNoneMatch: wanted() };
  }

  #recentRevisions(): string[] {
    return Array.from({ length: RECENT }, (_, index) => `r${this.#steps - index}`);
  }
}
