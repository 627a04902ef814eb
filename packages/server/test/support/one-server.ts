/** One server for all tests of a file, and a new project for each test that needs one. */
import { systemClock } from '../../src/core/clock.ts';
import { type Claims, jwt, seconds } from './jwt.ts';
import { Project } from './project-client.ts';
import { type TestServer, type TestServerOptions, withServer } from './server.ts';
import { suiteResource } from './suite-resource.ts';

/** Makes projects that no other test uses, each with a token of the server's time; they are closed at the end. */
export interface Projects {
  project(): Promise<Project>;
  projectWithUsers(...ids: string[]): Promise<Project>;
  projectWithGroup(id: string, ...members: string[]): Promise<Project>;
}

export interface OneServer extends Projects {
  /** The server, from the first test to the last. */
  readonly running: TestServer;
  /** The same, once it runs: for the hooks of a file, which the test runner starts before it has. */
  readonly started: Promise<TestServer>;
  /** A customer token of the server's time, with these claims in addition. */
  customerToken(claims?: Claims): string;
}

/** Starts a server before the tests of the calling file, and stops it after them. */
export function oneServer(options: TestServerOptions = {}): OneServer {
  const clock = options.clock ?? systemClock;
  const projects: Project[] = [];
  const closeProjects = () => {
    for (const project of projects) project.close();
  };
  const server = suiteResource<TestServer>((use) => withServer(options, use), closeProjects);
  const customerToken = ({ customerId, customerSecret }: TestServer, claims: Claims = {}) =>
    jwt({ customer_id: customerId, iat: seconds(clock.now()), ...claims }, customerSecret);
  const makeProject = async () => {
    const running = await server.opened;
    const project = await Project.create(running.url, customerToken(running), clock.now());
    projects.push(project);
    return project;
  };
  return {
    started: server.opened,
    get running() {
      return server.value;
    },
    project: makeProject,
    async projectWithUsers(...ids) {
      const project = await makeProject();
      await project.seedUsers(...ids);
      return project;
    },
    async projectWithGroup(id, ...members) {
      const project = await makeProject();
      await project.seedGroup(id, ...members);
      return project;
    },
    customerToken(claims) {
      return customerToken(this.running, claims);
    },
  };
}
