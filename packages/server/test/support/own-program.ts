/** A server program for one test, in a temporary directory. It ends with the test's process, however that ends. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/** Some servers do not run as root: for root, they run as the user `postgres`, whom PostgreSQL's package creates. */
export function owner(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** A port that was free a moment ago, on this address. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Runs `use` with a directory of {@link owner}, and removes it. */
export async function withDirectory<Result>(
  name: string,
  use: (directory: string) => Promise<Result>,
): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), `rollcall-${name}-`));
  const { uid, gid } = owner();
  if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid);
  chmodSync(directory, 0o700);
  try {
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Kills the server when its standard input ends. */
const WITH_PARENT = '"$@" & echo started; read -r _; kill -9 $!; wait';

/** A program that was started, as {@link owner}. */
export class OwnProgram implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(directory: string, ...command: readonly string[]): Promise<OwnProgram> {
    const child = spawn('sh', ['-c', WITH_PARENT, 'sh', ...command], {
      ...owner(),
      cwd: directory,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    await once(child.stdout, 'data');
    child.stdout.resume();
    return new OwnProgram(child);
  }

  /** Kills it, as a power failure does. Idempotent. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await exited;
  }
}
