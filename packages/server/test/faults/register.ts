/**
 * Registers in a running server: each is written with a number through the HTTP API and read back as that number. A
 * number that is written as several values is read from all of them, so a partial write is found.
 */
import assert from 'node:assert/strict';
import type { Answer } from '../support/http-client.ts';
import type { Project } from '../support/project-client.ts';

/** Sends a request with the project's token; a body goes as JSON. */
export type Call = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** The calls of a project through one of several processes. */
export const callOf =
  (project: Project): Call =>
  (method, path, body) =>
    project.send(method, path, body === undefined ? undefined : JSON.stringify(body));

export interface Register {
  readonly name: string;
  write(call: Call, value: number): Promise<Answer>;
  read(call: Call): Promise<number>;
  /** The number that is read after `value` was written: some registers store only a few bits. */
  expected(value: number): number;
}

const BATCH_USERS = 20;
const BATCH_GROUPS = 10;
const MEMBERS = 6;

const whole = (value: number) => value;
const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** Creates the resources of the registers; every register then reads 0. */
export async function createRegisters(call: Call, copies: number): Promise<Register[]> {
  const kinds = [groupRegister, userRegister, preferencesRegister, membersRegister, batchRegister];
  const registers = kinds.flatMap((make) => names(make.name, copies).map(make));
  for (const { write } of registers) assert.equal((await write(call, 0)).status, 200);
  return registers;
}

function groupRegister(id: string): Register {
  const path = `/v1/groups/${id}`;
  return {
    name: id,
    write: (call, value) => call('PUT', path, { name: `${value}`, metadata: { value } }),
    read: async (call) => {
      const { name, metadata } = await bodyOf(call('GET', path));
      return theOne([Number(name), metadata.value]);
    },
    expected: whole,
  };
}

function userRegister(id: string): Register {
  const path = `/v1/users/${id}`;
  return {
    name: id,
    write: (call, value) =>
      call('PUT', path, { name: `${value}`, email: `${value}@example.org`, metadata: { value } }),
    read: async (call) => {
      const { name, email, metadata } = await bodyOf(call('GET', path));
      return theOne([Number(name), Number.parseInt(email, 10), metadata.value]);
    },
    expected: whole,
  };
}

/** Two bits: the two channels. */
function preferencesRegister(id: string): Register {
  const user = `${id}-user`;
  const write = (call: Call, value: number) => {
    const channels = { sendViaMessenger: (value & 1) === 1, sendViaEmail: (value & 2) === 2 };
    return call('PUT', `/v1/${user}/preferences`, { key: 'notification_channels', value: channels });
  };
  return {
    name: id,
    async write(call, value) {
      if (value === 0) await bodyOf(call('PUT', `/v1/users/${user}`, {}));
      return write(call, value);
    },
    read: async (call) => {
      const [{ notification_channels: channels }] = await bodyOf(
        call('GET', `/v1/users/${user}/preferences`),
      );
      return Number(channels.sendViaMessenger) + 2 * Number(channels.sendViaEmail);
    },
    expected: (value) => value & 3,
  };
}

/** A bit for each possible member of a group. */
function membersRegister(id: string): Register {
  const users = names(`${id}-user`, MEMBERS);
  const hasBit = (value: number, index: number) => ((value >> index) & 1) === 1;
  return {
    name: id,
    async write(call, value) {
      if (value === 0) {
        await bodyOf(
          call('POST', '/v1/batch', {
            users: users.map((user) => ({ id: user })),
            groups: [{ id, name: id }],
          }),
        );
      }
      const add = users.filter((_, index) => hasBit(value, index));
      const remove = users.filter((_, index) => !hasBit(value, index));
      return call('POST', `/v1/groups/${id}/members`, { add, remove });
    },
    read: async (call) => {
      const { members } = await bodyOf(call('GET', `/v1/groups/${id}`));
      const page = await bodyOf(call('GET', `/v1/groups/${id}/members`));
      assert.deepEqual(
        page.users.map((user: { id: string }) => user.id),
        members,
      );
      assert.equal(page.pagination.total, members.length);
      return users.reduce((value, user, index) => value | (members.includes(user) ? 1 << index : 0), 0);
    },
    expected: (value) => value & (2 ** MEMBERS - 1),
  };
}

/** Many users and groups that one batch sets to the same number: they must never differ. */
function batchRegister(id: string): Register {
  const users = names(`${id}-user`, BATCH_USERS);
  const groups = names(`${id}-group`, BATCH_GROUPS);
  return {
    name: id,
    write: (call, value) =>
      call('POST', '/v1/batch', {
        users: users.map((user) => ({ id: user, name: `${value}` })),
        // The number of members goes with the value too.
        groups: groups.map((group) => ({
          id: group,
          name: `${value}`,
          members: users.slice(0, value % BATCH_USERS),
        })),
      }),
    read: async (call) => {
      const ofUsers = users.map(async (user) =>
        Number((await bodyOf(call('GET', `/v1/users/${user}`))).name),
      );
      const ofGroups = groups.map(async (group) => {
        const { name, members } = await bodyOf(call('GET', `/v1/groups/${group}`));
        assert.equal(
          members.length,
          Number(name) % BATCH_USERS,
          `the members of ${group} are of the same batch`,
        );
        return Number(name);
      });
      return theOne(await Promise.all([...ofUsers, ...ofGroups]));
    },
    expected: whole,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the registers read fields of several kinds of answer and check each
async function bodyOf(answering: Promise<Answer>): Promise<any> {
  const answer = await answering;
  assert.equal(answer.status, 200, answer.text);
  return answer.json();
}

function theOne(values: readonly number[]): number {
  assert.equal(new Set(values).size, 1, `a write is there in part: ${[...new Set(values)].join(' and ')}`);
  return values[0] as number;
}
