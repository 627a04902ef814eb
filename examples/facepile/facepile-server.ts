/** The backend of the example: serves the page, the client and tokens. A real backend authenticates the user first. */
import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import { Rollcall } from '../../packages/client/src/index.ts';
import { avatar, PEOPLE } from './people.ts';
import { type Credentials, signToken } from './sign-token.ts';

export const GROUP = 'aurora';
const CLIENT = join(import.meta.dirname, '../../packages/client/src');
const PAGE = join(import.meta.dirname, 'index.html');

/** The URL of Rollcall, and the project to use there. */
export interface Service extends Credentials {
  readonly url: string;
}

export interface FacepileServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Listens on a local port (0: a free one), and responds to requests once `connect` has resolved. */
export async function startFacepile(
  port: number,
  connect: (origin: string) => Promise<Service>,
): Promise<FacepileServer> {
  const ready = Promise.withResolvers<Service>();
  ready.promise.catch(() => {});
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    ready.promise.then((service) => answer(url, response, service)).catch(() => notFound(response));
  });
  await new Promise<void>((resolve, reject) => server.on('error', reject).listen(port, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  try {
    const service = await connect(url);
    await createPeople(service, url);
    ready.resolve(service);
    return { url, close };
  } catch (error) {
    ready.reject(error);
    await close();
    throw error;
  }
}

/** The users and the group of the example, in one atomic step. */
async function createPeople(service: Service, origin: string): Promise<void> {
  const rollcall = new Rollcall({ url: service.url, token: () => signToken(service) });
  const users = PEOPLE.map(({ id, name }) => ({
    id,
    name,
    profile_picture_url: `${origin}/avatars/${id}.svg`,
  }));
  const members = PEOPLE.map(({ id }) => id);
  await rollcall.batch({ users, groups: [{ id: GROUP, name: 'Aurora', members }] });
  await rollcall.close();
}

async function answer(
  { pathname, searchParams }: URL,
  response: ServerResponse,
  service: Service,
): Promise<void> {
  const [, folder = '', file = ''] = /^\/(\w*)\/?(.*)$/.exec(pathname) ?? [];
  const person = PEOPLE.find(({ id }) => id === searchParams.get('user'));
  switch (folder) {
    case '':
      return person === undefined ? redirect(response) : send(response, 'text/html', await readFile(PAGE));
    case 'people':
      return send(response, 'application/json', JSON.stringify({ service: service.url, people: PEOPLE }));
    case 'token':
      if (person === undefined) break;
      return send(response, 'text/plain', signToken(service, { user_id: person.id, group_id: GROUP }));
    case 'avatars':
      return sendAvatar(response, file);
    case 'client':
      return send(response, 'text/javascript', await clientModule(file));
  }
  notFound(response);
}

/** A module of the client, with its types stripped. An application gets the built client from npm. */
async function clientModule(file: string): Promise<string> {
  const path = normalize(join(CLIENT, file));
  if (!path.startsWith(CLIENT)) throw new Error('not a module of the client');
  return stripTypeScriptTypes(await readFile(path, 'utf8'));
}

function sendAvatar(response: ServerResponse, file: string): void {
  const person = PEOPLE.find(({ id }) => file === `${id}.svg`);
  if (person === undefined) notFound(response);
  else send(response, 'image/svg+xml', avatar(person));
}

let visits = 0;

/** A visitor without a `user` parameter gets the next user. */
function redirect(response: ServerResponse): void {
  const person = PEOPLE[visits++ % PEOPLE.length];
  response.writeHead(302, { location: `/?user=${person?.id}`, 'cache-control': 'no-store' }).end();
}

function send(response: ServerResponse, type: string, body: string | Buffer): void {
  response
    .setHeader('content-type', `${type}; charset=utf-8`)
    .setHeader('cache-control', 'no-cache')
    .end(body);
}

const notFound = (response: ServerResponse) => void response.writeHead(404).end();
