/** A command failed. The message is one line for the operator, without any secret. */
export class CommandError extends Error {
  /** 1: it failed; 2: bad usage. */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

/** Bad usage: exit code 2. */
export const usageError = (message: string) => new CommandError(message, 2);
