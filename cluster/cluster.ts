/** `npm run cluster`: several Rollcall processes on one PostgreSQL and one Redis, for demonstration. Ctrl-C stops all. */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { mintProjectToken } from '../packages/server/src/auth/sign.ts';
import { newSecret } from '../packages/server/src/core/clients/credentials.ts';
import { pasteLines } from '../packages/server/src/start-message.ts';
import { openStore } from '../packages/server/src/wiring.ts';
import { localServers, type Servers } from './local-servers.ts';
import { type Cluster, startCluster } from './start-cluster.ts';

const HELP = `npm run cluster -- [--processes <3>] [--port <8080>]

Starts Rollcall processes on one PostgreSQL and one Redis behind a round-robin balancer. The servers are those of
ROLLCALL_DATABASE_URL and ROLLCALL_REDIS_URL, or by default the local ones; on the local PostgreSQL the database
rollcall_cluster is created when missing. Other ROLLCALL_ variables are passed on to the processes. Their logs go to
standard error, with the number of the process.
`;

const NAME = 'cluster';

/** The first customer and project. When they exist already, their secrets do not change. */
const CREDENTIALS = {
  ROLLCALL_CUSTOMER_ID: NAME,
  ROLLCALL_CUSTOMER_SECRET: newSecret(),
  ROLLCALL_PROJECT_ID: NAME,
  ROLLCALL_PROJECT_SECRET: newSecret(),
};

function readOptions(): { processes: number; port: number } | null {
  const { values } = parseArgs({
    options: {
      processes: { type: 'string', default: '3' },
      port: { type: 'string', default: '8080' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return null;
  return {
    processes: wholeNumber('--processes', values.processes, 1),
    port: wholeNumber('--port', values.port, 0),
  };
}

function wholeNumber(flag: string, text: string, min: number): number {
  const number = Number(text);
  if (/^\d{1,5}$/.test(text) && number >= min && number <= 65_535) return number;
  throw new Error(`${flag}: expected a whole number of at least ${min}, not ${text}`);
}

/** The settings of the environment for the processes, without host, port and data directory. */
function settings(): Record<string, string> {
  const { ROLLCALL_HOST, ROLLCALL_PORT, ROLLCALL_DATA_DIR, ...others } = process.env;
  const own = Object.entries(others).filter(([name]) => name.startsWith('ROLLCALL_'));
  return { ...CREDENTIALS, ...(Object.fromEntries(own) as Record<string, string>) };
}

/** A token of the project, signed with the secret that is stored: it can be older than {@link CREDENTIALS}. */
async function tokenOf(projectId: string, { databaseUrl }: Servers): Promise<string> {
  const store = await openStore({ databaseUrl, dataDir: '' });
  try {
    const project = await store.projects.find(projectId);
    if (project === null) throw new Error(`there is no project ${projectId}`);
    return await mintProjectToken(project.id, project.secret, Date.now());
  } finally {
    await store.close();
  }
}

function describe(cluster: Cluster, servers: Servers, token: string): string {
  const lines = cluster.nodes.map(
    ({ url, process: { pid } }, index) => `  ${index + 1}  ${url}  kill -9 ${pid}`,
  );
  return `
${cluster.nodes.length} processes on ${servers.names}, behind ${cluster.url}.
Each request goes to the next process. When one ends, the others continue:

${lines.join('\n')}

Paste this into another terminal:

${pasteLines(cluster.url, token)}

Ctrl-C stops all.
`;
}

/** Resolves at the first SIGINT or SIGTERM; later ones are ignored, since npm and the terminal both send them. */
const stopRequested = () =>
  new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
  });

async function run(options: { processes: number; port: number }): Promise<void> {
  const stopped = stopRequested();
  const servers = await localServers(process.env);
  const own = settings();
  const onLine = (line: string, number: number) => process.stderr.write(`${number} | ${line}\n`);
  await using cluster = await startCluster({ ...options, ...servers, settings: own, onLine });
  for (const [index, node] of cluster.nodes.entries()) {
    node.process.ended().then((how) => process.stderr.write(`${index + 1} | ended: ${how}\n`));
  }
  process.stdout.write(describe(cluster, servers, await tokenOf(own.ROLLCALL_PROJECT_ID as string, servers)));
  await stopped;
}

try {
  const options = readOptions();
  if (options === null) process.stdout.write(HELP);
  else await run(options);
} catch (error) {
  process.stderr.write(`cluster: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
