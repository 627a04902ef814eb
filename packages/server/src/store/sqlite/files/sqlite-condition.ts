import { StoreUnavailableError } from '../../../values/engine-errors.ts';
import { isDamage, readFailure } from '../sqlite-errors.ts';
import { changedFiles, type FileIdentities } from './sqlite-files.ts';

/** How often the store's files are checked when nothing is written, in milliseconds. */
const CHECK_EVERY_MS = 1_000;

/**
 * Whether the store may still be written. It is lost when its files were removed or replaced, or when SQLite found damage
 * in them: no write is acknowledged any more, because a later start would not find it. Reads go on as far as they can, so
 * that the data can be exported. Only another start ends this.
 */
export class StoreCondition {
  readonly #onLost: (reason: string) => void;
  readonly #readChangedFiles: typeof changedFiles;
  #files: FileIdentities;
  #timer: NodeJS.Timeout | undefined;
  #lost: string | null = null;

  /** `onLost` is called once, with a line for the operator. `readChangedFiles` is a parameter for tests. */
  constructor(onLost: (reason: string) => void, files: FileIdentities = [], readChangedFiles = changedFiles) {
    this.#onLost = onLost;
    this.#files = files;
    this.#readChangedFiles = readChangedFiles;
  }

  get isLost(): boolean {
    return this.#lost !== null;
  }

  /** Checks these files every second from now on, until {@link close}. */
  watch(files: FileIdentities): void {
    this.#files = files;
    const check = () => {
      try {
        this.checkFiles();
      } catch {
        // The files may be there all the same. Until the check succeeds, the writer answers that the store is unavailable.
      }
    };
    this.#timer = setInterval(check, CHECK_EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  lose(reason: string): void {
    if (this.#lost !== null) return;
    this.#lost = reason;
    this.#onLost(reason);
  }

  /** @throws StoreUnavailableError when the store is lost, or the file system does not answer */
  checkFiles(): void {
    const changed = this.#lost === null ? this.#readChangedFiles(this.#files) : null;
    if (changed !== null) this.lose(filesChanged(changed));
    this.require();
  }

  /** The store is lost where the error is one of damage. */
  checkError(error: unknown): void {
    if (isDamage(error)) this.lose(damaged(error));
  }

  /** @throws StoreUnavailableError when the store is lost */
  require(): void {
    if (this.#lost !== null) throw new StoreUnavailableError(this.#lost);
  }

  /** The error that a failed read rejects with. Damage that the read met is remembered. */
  readonly readFailure = (error: unknown): unknown => {
    this.checkError(error);
    return readFailure(error);
  };
}

const CONSEQUENCE = 'nothing is written any more, /readyz answers 503, reads go on where they can';
const ADVICE = 'see "A lost store" in docs/operations.md before you stop this process';

const filesChanged = (names: string): string =>
  `files of the store were removed or replaced while the server runs (${names}): ${CONSEQUENCE}; ${ADVICE}`;

const damaged = (error: unknown): string =>
  `the store is damaged (${(error as Error).message}): ${CONSEQUENCE}; run "rollcall doctor", and ${ADVICE}`;
