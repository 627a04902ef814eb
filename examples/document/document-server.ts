/** The backend of the example: serves the application with Vite, and signs tokens. A real backend authenticates the user first. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import react from '@vitejs/plugin-react';
import { createServer as createVite } from 'vite';
import { Rollcall } from '../../packages/client/src/index.ts';
import { signClientToken, signProjectToken } from '../../packages/client/src/server/index.ts';
import { avatar, PEOPLE } from './people.ts';

export const GROUP = 'aurora';
const REPOSITORY = new URL('../..', import.meta.url).pathname;
/** An application has the packages from npm; here it has their sources. */
const alias = {
  '@rollcall/client': new URL('../../packages/client/src/index.ts', import.meta.url).pathname,
  '@rollcall/react': new URL('../../packages/react/src/index.ts', import.meta.url).pathname,
};

/** The URL of Rollcall, and the project to use there. */
export interface Service {
  readonly url: string;
  readonly projectID: string;
  readonly projectSecret: string;
}

export interface DocumentServer {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Listens on a local port (0: a free one), connects to a Rollcall that allows its origin, and creates its users there.
 * @param root the folder of the application
 */
export async function startDocument(
  port: number,
  connect: (origin: string) => Promise<Service>,
  root = import.meta.dirname,
): Promise<DocumentServer> {
  const server = createServer();
  const vite = await createVite({
    configFile: false,
    root,
    logLevel: 'error',
    plugins: [react()],
    resolve: { alias, dedupe: ['react'] },
    server: { middlewareMode: true, hmr: { server }, fs: { allow: [REPOSITORY, root] } },
  });
  await new Promise<void>((resolve, reject) => server.on('error', reject).listen(port, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    await vite.close();
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  try {
    const service = await connect(url);
    await createPeople(service, url);
    server.on('request', (request, response) => {
      answer(request, response, service).then(
        (isAnswered) => {
          if (!isAnswered) vite.middlewares(request, response);
        },
        () => response.writeHead(500).end(),
      );
    });
    return { url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const pictureOf = (id: string) => `/avatars/${id}.svg`;

/** The users and the group of the example, in one atomic step. */
async function createPeople(
  { url, projectID, projectSecret: secret }: Service,
  origin: string,
): Promise<void> {
  const rollcall = new Rollcall({ url, token: () => signProjectToken({ projectID, secret }) });
  const users = PEOPLE.map(({ id, name }) => ({ id, name, profile_picture_url: origin + pictureOf(id) }));
  const members = PEOPLE.map(({ id }) => id);
  await rollcall.batch({ users, groups: [{ id: GROUP, name: 'Aurora', members }] });
  await rollcall.close();
}

/** Answers what is not the application's. Returns whether it did. */
async function answer(
  { url = '' }: IncomingMessage,
  response: ServerResponse,
  { url: service, projectID, projectSecret: secret }: Service,
): Promise<boolean> {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const [, folder, file] = /^\/(\w*)(?:\/(.*))?$/.exec(pathname) ?? [];
  const user = PEOPLE.find(({ id }) => id === searchParams.get('user'));
  const send = (type: string, body: string) => {
    response
      .setHeader('content-type', `${type}; charset=utf-8`)
      .setHeader('cache-control', 'no-store')
      .end(body);
    return true;
  };
  const missing = () => {
    response.writeHead(404).end();
    return true;
  };
  switch (folder) {
    case '':
      if (user !== undefined) return false;
      response.writeHead(302, { location: `/?user=${nextVisitor()}`, 'cache-control': 'no-store' }).end();
      return true;
    case 'people': {
      const people = PEOPLE.map(({ id, name }) => ({ id, name, pictureURL: pictureOf(id) }));
      return send('application/json', JSON.stringify({ service, people }));
    }
    case 'token':
      if (user === undefined) return missing();
      return send(
        'text/plain',
        await signClientToken({ projectID, secret, userID: user.id, groupID: GROUP }),
      );
    case 'avatars': {
      const person = PEOPLE.find(({ id }) => file === `${id}.svg`);
      return person === undefined ? missing() : send('image/svg+xml', avatar(person));
    }
  }
  return false;
}

let visits = 0;

/** A visitor without a `user` parameter is the next user. */
const nextVisitor = () => PEOPLE[visits++ % PEOPLE.length]?.id;
