/** Requests of every described operation, made of the examples of the API description. */
import assert from 'node:assert/strict';
import type { Example } from '../../src/http/operation.ts';
import { clientToken } from '../support/browser.ts';
import { markdown } from '../support/conversation.ts';
import { expectDone } from '../support/expect.ts';
import { type Answer, send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import type { OneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import type { ApiDescription, DescribedOperation } from './api-description.ts';

/** What a request has instead of the examples. */
export interface Variation {
  /** Values of path parameters, escaped. */
  readonly path?: Readonly<Record<string, string>>;
  /** Without the question mark. Default: the required parameters. */
  readonly query?: string;
  /** A string is sent as it is, another value as JSON. Default: no body. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The Authorization header; null: none. Default: a token that opens the operation. */
  readonly authorization?: string | null;
}

/** A project in the state that the examples assume. */
export async function exampleProject(server: OneServer): Promise<Project> {
  const project = await server.project();
  await project.seed({
    users: ['ada', 'grace', 'linus'].map((id) => ({ id, name: `Name of ${id}` })),
    groups: [{ id: 'analysts', name: 'Analysts', members: ['ada', 'grace'] }],
  });
  expectDone(await project.put('/v1/threads/launch', { groupID: 'analysts', name: 'Launch date' }));
  const message = { authorID: 'ada', content: markdown('In June.') };
  expectDone(await project.put('/v1/threads/launch/messages/81', message));
  const webhook = { url: 'https://receiver.invalid/', status: 'paused' };
  assert.equal((await project.put('/v1/webhooks/search-index', webhook)).status, 201);
  return project;
}

/** The bodies that the operation has as examples. */
export const exampleBodies = ({ operation }: DescribedOperation): Example[] =>
  Object.values(operation.requestBody?.content['application/json']?.examples ?? {}) as Example[];

/** The kind of token that opens the operation, as the API description names it. */
export const tokenKind = ({ operation }: DescribedOperation): string | undefined =>
  operation.security.flatMap((requirement) => Object.keys(requirement))[0];

const appToken = ({ id, secret }: Project) => jwt({ app_id: id, iat: seconds(Date.now()) }, secret);

export async function accessToken(project: Project): Promise<string> {
  const answer = await project.post('/v1/authorize', { signed_app_token: appToken(project) });
  return answer.json<{ access_token: string }>().access_token;
}

/** The requests of one operation in a project that `exampleProject` made. */
export class ExampleRequest {
  readonly #api: ApiDescription;
  readonly #described: DescribedOperation;
  readonly #project: Project;
  readonly #customerToken: string;

  constructor(api: ApiDescription, described: DescribedOperation, project: Project, customerToken: string) {
    this.#api = api;
    this.#described = described;
    this.#project = project;
    this.#customerToken = customerToken;
  }

  async send(variation: Variation): Promise<Answer> {
    const { path, query = this.query(false), body, headers } = variation;
    const { authorization = await this.#authorization() } = variation;
    const target = `${this.#path(path)}${query === '' ? '' : `?${query}`}`;
    return send(this.#project.url, this.#described.method.toUpperCase(), target, {
      headers: {
        ...(authorization !== null && { authorization }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: this.#text(body) }),
    });
  }

  /** The query with the examples of the required parameters, or of all. */
  query(isWhole: boolean): string {
    const query = new URLSearchParams();
    for (const { name, in: source, required, style, example } of this.#api.parameters(this.#described)) {
      if (source !== 'query' || example === undefined || !(isWhole || required === true)) continue;
      // It belongs to streams: a reading with it is rejected.
      if (name === 'connectionID') continue;
      if (style === 'deepObject')
        for (const [key, part] of Object.entries(example as object))
          query.set(`${name}[${key}]`, String(part));
      else for (const one of [example].flat()) query.append(name, String(one));
    }
    return String(query);
  }

  #path(values: Variation['path'] = {}): string {
    const examples = this.#api.parameters(this.#described).map(({ name, example }) => [name, example]);
    const ids = { ...Object.fromEntries(examples), project_id: this.#project.id };
    return this.#described.path.replaceAll(
      /\{(\w+)\}/g,
      (_, name) => values[name] ?? encodeURIComponent(String(ids[name])),
    );
  }

  async #authorization(): Promise<string | null> {
    const token = await this.#token();
    return token === null ? null : `Bearer ${token}`;
  }

  #token(): string | Promise<string> | null {
    if (this.#described.operation.operationId === 'revoke') return accessToken(this.#project);
    const kind = tokenKind(this.#described);
    if (kind === 'customerToken') return this.#customerToken;
    if (kind === 'clientToken') return clientToken(this.#project, { user_id: 'ada', group_id: 'analysts' });
    return kind === undefined ? null : this.#project.token;
  }

  /** App tokens are those of this server; everything else is sent as in the description. */
  #text(body: unknown): string {
    if (typeof body === 'string') return body;
    const isExample = exampleBodies(this.#described).some(({ value }) => value === body);
    const isAuthorization = isExample && Object.hasOwn(body as object, 'signed_app_token');
    return JSON.stringify(isAuthorization ? { signed_app_token: appToken(this.#project) } : body);
  }
}
