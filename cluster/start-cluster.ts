import process from 'node:process';
import { RollcallProcess } from './rollcall-process.ts';
import { startRoundRobin } from './round-robin.ts';

export interface ClusterOptions {
  readonly processes: number;
  /** Where the balancer listens; 0 takes a free port. */
  readonly port: number;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** More settings of the processes, by variable. Of this process's own settings they get none. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The program that they run, where it is another than that of this project. */
  readonly launcher?: string;
  /** Is given what the processes print. */
  readonly onLine?: (line: string, process: number) => void;
}

export interface ClusterNode {
  readonly url: string;
  readonly process: RollcallProcess;
}

/** Rollcall processes on one PostgreSQL and one Redis, behind a balancer that sends each request to the next of them. */
export interface Cluster extends AsyncDisposable {
  /** The balancer. */
  readonly url: string;
  readonly nodes: readonly ClusterNode[];
  /** Stops all that still run, and waits until they are gone. Idempotent. */
  stop(): Promise<void>;
}

/** Starts all at once. @throws Error with what a process printed that ended before it listened; then none is left */
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

/** Starts the processes without waiting for any. */
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
