/** One server for all tests of a file, and a project of its own for each test that needs one. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { send } from './http-client.ts';
import { jwt, seconds } from './jwt.ts';
import { Project } from './project-client.ts';
import { type TestServer, type TestServerOptions, withServer } from './server.ts';

export interface OneServer {
  /** The server, from the first test to the last. */
  readonly running: TestServer;
  /** The same, once it runs: for hooks of the file, which the runner starts together with the one that starts it. */
  readonly started: Promise<TestServer>;
  /** Makes a project that nothing else uses. */
  project(): Promise<Project>;
}

/** Starts a server before the tests of the calling file, and stops it after them. */
export function oneServer(options: TestServerOptions = {}): OneServer {
  const started = Promise.withResolvers<TestServer>();
  const finished = Promise.withResolvers<void>();
  const projects: Project[] = [];
  let running: TestServer | undefined;
  let bracket: Promise<void>;
  before(async () => {
    bracket = withServer(options, async (server) => {
      started.resolve(server);
      await finished.promise;
    });
    bracket.catch(started.reject);
    running = await started.promise;
  });
  after(async () => {
    for (const project of projects) project.close();
    finished.resolve();
    await bracket;
  });
  return {
    started: started.promise,
    get running() {
      assert.ok(running !== undefined, 'the server has not been started yet');
      return running;
    },
    async project() {
      const project = await createProject(this.running);
      projects.push(project);
      return project;
    },
  };
}

async function createProject({ url, customerToken }: TestServer): Promise<Project> {
  const answer = await send(url, 'POST', '/v1/projects', {
    headers: { authorization: `Bearer ${customerToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'one of the tests' }),
  });
  assert.equal(answer.status, 201, answer.text);
  const { id, secret } = answer.json<{ id: string; secret: string }>();
  const token = jwt({ project_id: id, iat: seconds(Date.now()) }, secret);
  return new Project(url, id, secret, token);
}
