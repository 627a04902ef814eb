/** A failure on its way from one thread to another: an error that is copied there loses its class. */
import { ProjectGoneError, StoreUnavailableError } from '../../values/engine-errors.ts';

export interface ThreadFailure {
  readonly kind: 'unavailable' | 'projectGone' | 'defect';
  readonly message: string;
  readonly stack: string | undefined;
}

/** `isUnavailable`: whether the same may succeed later. */
export function toThreadFailure(
  error: unknown,
  isUnavailable = error instanceof StoreUnavailableError,
): ThreadFailure {
  const { message, stack } = error as Error;
  if (error instanceof ProjectGoneError) return { kind: 'projectGone', message, stack };
  return { kind: isUnavailable ? 'unavailable' : 'defect', message, stack };
}

/** The error of the same class, as where it was thrown. */
export function fromThreadFailure({ kind, message, stack }: ThreadFailure): Error {
  if (kind === 'projectGone') return new ProjectGoneError();
  const error = kind === 'unavailable' ? new StoreUnavailableError(message) : new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
