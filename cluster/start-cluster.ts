import process from 'node:process';
import { RollcallProcess } from './rollcall-process.ts';
import { startRoundRobin } from './round-robin.ts';

export interface ClusterOptions {
  readonly processes: number;
  /** Where the balancer listens; 0 takes a free port. */
  readonly port: number;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Further settings of the processes, by variable. They inherit no `ROLLCALL_` variable of this process. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The program to run. Default: this project's. */
  readonly launcher?: string;
  /** Receives each line of output of the processes. */
  readonly onLine?: (line: string, process: number) => void;
}

export interface ClusterNode {
  readonly url: string;
  readonly process: RollcallProcess;
}

/** Rollcall processes on one PostgreSQL and one Redis, behind a round-robin balancer. */
export interface Cluster extends AsyncDisposable {
  /** The URL of the balancer. */
  readonly url: string;
  readonly nodes: readonly ClusterNode[];
  /** Stops the running processes, and waits until they have exited. Idempotent. */
  stop(): Promise<void>;
}

/** Starts all processes at once. @throws Error when one exits before it listens, with its output; the others are stopped */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  await using opened = new AsyncDisposableStack();
  const processes = startProcesses(options);
  opened.defer(async () => {
    await Promise.all(processes.map((started) => started.end()));
  });
  const nodes = await Promise.all(
    processes.map(async (started) => ({ url: await started.listening, process: started })),
  );
  const balancer = await startRoundRobin(
    nodes.map(({ url }) => url),
    options.port,
  );
  opened.defer(() => balancer.close());
  const owned = opened.move();
  const stop = () => owned.disposeAsync();
  return { url: balancer.url, nodes, stop, [Symbol.asyncDispose]: stop };
}

/** Starts the processes without waiting until they listen. */
export function startProcesses(options: Omit<ClusterOptions, 'port'>): RollcallProcess[] {
  const env = {
    ...environmentOfOthers(),
    ...options.settings,
    ROLLCALL_DATABASE_URL: options.databaseUrl,
    ROLLCALL_REDIS_URL: options.redisUrl,
  };
  return Array.from(
    { length: options.processes },
    (_, index) =>
      new RollcallProcess({
        env,
        launcher: options.launcher,
        onLine: (line) => options.onLine?.(line, index + 1),
      }),
  );
}

const environmentOfOthers = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ROLLCALL_')));
