import { type DispatchFunc, type InjectOptions, inject, type Response } from 'light-my-request';
import { type Logger, pino } from 'pino';
import { buildApp } from '../../src/app.ts';
import { createMemoryBroker } from '../../src/broker/memory/memory-broker.ts';
import { loadSettings, type Settings } from '../../src/config/settings.ts';
import type { Application } from '../../src/http/application.ts';
import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import { createServices } from '../../src/services.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import type { Engine } from '../../src/wiring.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

export interface AppCase {
  readonly app: Application;
  readonly engine: Engine;
  readonly clock: MovedClock;
  readonly project: ProjectKey;
  readonly authorization: string;
  readonly customerAuthorization: string;
  /** Sends a request with the project's token; an object as `payload` goes as JSON. */
  call(method: string, url: string, options?: CallOptions): Promise<CallAnswer>;
}

export type CallOptions = Pick<InjectOptions, 'headers' | 'payload'>;
export type CallAnswer = Response;

export interface AppOptions {
  readonly settings?: Partial<Settings>;
  readonly log?: Logger;
  /** Makes a part of the real engine fail, or records its calls. */
  readonly disturb?: (engine: Engine) => Partial<Engine>;
}

const CUSTOMER = { id: 'acme', secret: 'acme-secret', name: 'Acme', createdAt: 0 };
const PROJECT = { id: 'wiki', customerId: 'acme', name: 'Wiki', secret: 'wiki-secret', createdAt: 0 };

/** The application on the embedded engine, without a port, for as long as `use` runs. */
export async function withApp<Result>(
  options: AppOptions,
  use: (appCase: AppCase) => Promise<Result>,
): Promise<Result> {
  await using directory = await temporaryDirectory('http');
  await using opened = new AsyncDisposableStack();
  const store = opened.adopt(await openSqliteStore({ dataDir: directory.path }), (open) => open.close());
  const real: Engine = { store, presence: createMemoryPresence(), broker: createMemoryBroker() };
  const project = await createProject(store);
  const clock = new MovedClock();
  const engine = { ...real, ...options.disturb?.(real) };
  const settings = { ...loadSettings({}), ...options.settings };
  const log = options.log ?? pino({ level: 'silent' });
  const services = opened.adopt(await createServices(engine, clock, settings, log), (built) => built.close());
  const app = opened.adopt(buildApp(services), (built) => built.close());
  const iat = seconds(clock.now());
  const authorization = `Bearer ${jwt({ project_id: PROJECT.id, iat }, PROJECT.secret)}`;
  const customerAuthorization = `Bearer ${jwt({ customer_id: CUSTOMER.id, iat }, CUSTOMER.secret)}`;
  const call = (method: string, url: string, { headers, payload }: CallOptions = {}) =>
    send(app, {
      method: method as 'GET',
      url,
      headers: { authorization, ...headers },
      ...(payload !== undefined && { payload }),
    });
  return await use({ app, engine, clock, project, authorization, customerAuthorization, call });
}

/** Sends a request to the application without a socket. */
export const send = (app: Application, request: InjectOptions | string): Promise<CallAnswer> =>
  inject(app.handle as DispatchFunc, request);

async function createProject(store: Store): Promise<ProjectKey> {
  await store.customers.create(CUSTOMER);
  const created = await store.projects.create(PROJECT);
  if (created.kind !== 'created') throw new Error(`the project was not created: ${created.kind}`);
  return created.project.key;
}

/** `real` with other members; where a member is an object, with other members of it. */
export function altered<T extends object>(real: T, changes: Changes<T>): T {
  return new Proxy(real, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name);
      const change: unknown = Reflect.get(changes, name) ?? own;
      if (typeof change === 'function') return change.bind(target);
      return isObject(change) && isObject(own) && change !== own ? { ...own, ...change } : change;
    },
  });
}

type Changes<T> = {
  readonly [Name in keyof T]?: T[Name] extends (...parameters: never[]) => unknown
    ? T[Name]
    : Partial<T[Name]>;
};

const isObject = (value: unknown) => typeof value === 'object' && value !== null;
