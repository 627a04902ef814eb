import { JsonObjectError, parseJsonObject, ValidationErrors } from '@rollcall/protocol';
import { ServiceError } from '../../core/service-error.ts';
import { validationError } from '../../core/validation-error.ts';
import type { AnyFrame, RawFrame } from './frame-definition.ts';
import { FRAMES } from './frames/all-frames.ts';

const DEFINITIONS = new Map<unknown, AnyFrame>(FRAMES.map((definition) => [definition.op, definition]));
const EXPECTED_OPS = `one of ${[...DEFINITIONS.keys()].join(', ')}`;

/** The JSON object of a frame. @throws ServiceError `invalid_request` */
export function readFrame(bytes: Uint8Array): RawFrame {
  try {
    return parseJsonObject(bytes, 'the frame');
  } catch (error) {
    if (error instanceof JsonObjectError) throw new ServiceError('invalid_request', error.message);
    throw error;
  }
}

/** The number that the answer repeats; null where the frame has none. */
export const refOf = ({ ref }: RawFrame): number | null => (Number.isFinite(ref) ? (ref as number) : null);

/** @throws ServiceError `missing_authorization_header` where a frame before the login is not the one that logs in */
export function requireAuth({ op }: RawFrame): void {
  if (DEFINITIONS.get(op)?.isLogin !== true)
    throw new ServiceError(
      'missing_authorization_header',
      'the first frame is auth, with a client token: the bearer token must be present',
    );
}

/** Checks the fields of a frame, and returns its definition. `group` is the one that the token names. @throws ServiceError */
export function checkFrame(frame: RawFrame, group: string | null): AnyFrame {
  const errors = new ValidationErrors();
  const definition = DEFINITIONS.get(frame.op);
  if (definition !== undefined) {
    definition.validate(frame, errors);
    definition.rule?.(frame, errors, group);
  } else if (frame.op === undefined) errors.missing.add('op', EXPECTED_OPS);
  else errors.invalid.add('op', EXPECTED_OPS);
  if (!errors.clean) throw validationError(errors);
  return definition as AnyFrame;
}
