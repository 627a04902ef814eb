/** The command line in the process of the tests: it loads its modules once, and not for each command. */
import { AsyncLocalStorage } from 'node:async_hooks';
import process from 'node:process';
import { Readable, Writable } from 'node:stream';
import { buildCli } from '../../src/cli/cli.ts';
import { runCommand } from '../../src/cli/run-command.ts';

/** What a command has of its process. */
type Surroundings = Pick<NodeJS.Process, 'env' | 'stdin' | 'stdout' | 'stderr'>;

export interface EndedHere {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** How many bytes a pipe brings at once. */
const PIPE_BYTES = 65_536;

const current = new AsyncLocalStorage<Surroundings>();

// Commands run at the same time as each other, as tests and as servers, of which each has its own.
for (const name of ['env', 'stdin', 'stdout', 'stderr'] as const) {
  const ofTests = process[name];
  Object.defineProperty(process, name, { get: () => current.getStore()?.[name] ?? ofTests });
}

/** Runs a command as a process of its own does that has this environment, this input, and pipes for its output. */
export async function runHere(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  input: string | Uint8Array = '',
): Promise<EndedHere> {
  const [stdout, stderr] = [new Pipe(process.stdout.fd), new Pipe(process.stderr.fd)];
  const stdin = Readable.from(chunksOf(Buffer.from(input)), { objectMode: false });
  // Node's types have them as the terminal's, of which commands use what pipes have too.
  const surroundings = { env, stdin, stdout, stderr } as unknown as Surroundings;
  const ended = await current.run(surroundings, () => runCommand(buildCli(), args));
  const isSignal = typeof ended === 'string';
  return {
    code: isSignal ? null : ended,
    signal: isSignal ? ended : null,
    stdout: stdout.content,
    stderr: stderr.content,
  };
}

class Pipe extends Writable {
  /** Commands compare it with the file of `--output`. */
  readonly fd: number;
  readonly #chunks: Buffer[] = [];

  constructor(fd: number) {
    super();
    this.fd = fd;
  }

  get content(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }
}

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += PIPE_BYTES)
    yield bytes.subarray(start, start + PIPE_BYTES);
}
