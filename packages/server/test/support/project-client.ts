/** A client of one project: requests with its token, and reads of its whole state. */
import assert from 'node:assert/strict';
import type { Group, GroupEntry, GroupItem, Static, User, UserItem } from '@rollcall/protocol';
import { http } from '../../src/values/node-http.ts';
import { expectOk } from './expect.ts';
import { type Answer, send } from './http-client.ts';
import { jwt, seconds } from './jwt.ts';
import type { TestServer } from './server.ts';

export interface PageInfo {
  readonly token: string | null;
  readonly total: number;
}
export type GroupListEntry = Static<typeof GroupEntry>;
export type UserPage = { users: User[]; pagination: PageInfo };

type Headers = Record<string, string>;

/** Encodes any ID as a path segment, also the dot segments that URL parsers resolve. */
export function segment(id: string): string {
  return encodeURIComponent(id).replaceAll('.', '%2E');
}

export class Project {
  readonly url: string;
  readonly id: string;
  readonly secret: string;
  readonly token: string;
  readonly #agent = new http.Agent({ keepAlive: true });

  constructor(url: string, id: string, secret: string, token: string) {
    this.url = url;
    this.id = id;
    this.secret = secret;
    this.token = token;
  }

  /** The project of a test server. */
  static of({ url, projectId, projectSecret, projectToken }: TestServer): Project {
    return new Project(url, projectId, projectSecret, projectToken);
  }

  /** Creates a project. `now` is the time at which its token is signed. */
  static async create(url: string, customerToken: string, now = Date.now()): Promise<Project> {
    const answer = await send(url, 'POST', '/v1/projects', {
      headers: { authorization: `Bearer ${customerToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Test' }),
    });
    assert.equal(answer.status, 201, answer.text);
    const { id, secret } = answer.json<{ id: string; secret: string }>();
    return new Project(url, id, secret, jwt({ project_id: id, iat: seconds(now) }, secret));
  }

  /** When its token was signed. */
  get signedAt(): number {
    const [, claims = ''] = this.token.split('.');
    const { iat } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { iat: number };
    return iat * 1_000;
  }

  get(path: string, headers: Headers = {}): Promise<Answer> {
    return this.send('GET', path, undefined, headers);
  }

  put(path: string, body: unknown, headers: Headers = {}): Promise<Answer> {
    return this.send('PUT', path, JSON.stringify(body), headers);
  }

  post(path: string, body: unknown, headers: Headers = {}): Promise<Answer> {
    return this.send('POST', path, JSON.stringify(body), headers);
  }

  delete(path: string, headers: Headers = {}): Promise<Answer> {
    return this.send('DELETE', path, undefined, headers);
  }

  /** Sends the body as it is, with the content type JSON. */
  send(method: string, path: string, body?: string | Uint8Array, headers: Headers = {}): Promise<Answer> {
    const type: Headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const outgoing = { ...type, authorization: `Bearer ${this.token}`, ...headers };
    return send(this.url, method, path, {
      headers: outgoing,
      agent: this.#agent,
      ...(body === undefined ? {} : { body }),
    });
  }

  /** Creates the users and groups that a test starts from. */
  async seed(batch: { users?: readonly UserItem[]; groups?: readonly GroupItem[] }): Promise<void> {
    expectOk(await this.post('/v1/batch', batch));
  }

  /** Creates users with nothing but an ID. */
  async seedUsers(...ids: string[]): Promise<void> {
    await this.seed({ users: ids.map((id) => ({ id })) });
  }

  /** Creates a group, and the users who are its members. */
  async seedGroup(id: string, ...members: string[]): Promise<void> {
    const group = { id, name: id.toUpperCase(), members };
    await this.seed({ users: members.map((user) => ({ id: user })), groups: [group] });
  }

  async group(id: string): Promise<Group> {
    return expectOk(await this.get(`/v1/groups/${segment(id)}`));
  }

  async user(id: string): Promise<User> {
    return expectOk(await this.get(`/v1/users/${segment(id)}`));
  }

  async groups(): Promise<GroupListEntry[]> {
    return expectOk(await this.get('/v1/groups'));
  }

  async users(): Promise<User[]> {
    return expectOk<UserPage>(await this.get('/v1/users?limit=10000')).users;
  }

  async groupIds(): Promise<string[]> {
    return (await this.groups()).map(({ id }) => id);
  }

  async userIds(): Promise<string[]> {
    return (await this.users()).map(({ id }) => id);
  }

  /** All groups and users with their revisions. Equal states: no write in between. */
  async state(): Promise<unknown> {
    const [groups, users] = await Promise.all([this.groupIds(), this.users()]);
    const read = await Promise.all(
      groups.map(async (id) => {
        const answer = await this.get(`/v1/groups/${segment(id)}`);
        return { group: expectOk(answer), etag: answer.headers.etag };
      }),
    );
    return { groups: read, users };
  }

  /** Runs `request`, and asserts that it changed nothing. */
  async unchanged<Result>(request: () => Promise<Result>): Promise<Result> {
    const before = await this.state();
    const result = await request();
    assert.deepEqual(await this.state(), before, 'the request changed something');
    return result;
  }

  /** Closes the connections. */
  close(): void {
    this.#agent.destroy();
  }
}
