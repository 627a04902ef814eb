import {
  JsonObjectError,
  parseJsonObject,
  SOCKET_FRAMES,
  type SocketFrame,
  type SocketOp,
  ValidationErrors,
  validator,
} from '@rollcall/protocol';
import { inspectPresence } from '../../core/presence-rules.ts';
import type { PresenceChange } from '../../core/presence-service.ts';
import { ServiceError } from '../../core/service-error.ts';
import { validationError } from '../../core/validation-error.ts';

/** A frame whose fields are not checked. */
export type RawFrame = Readonly<Record<string, unknown>>;

const OPS = Object.keys(SOCKET_FRAMES) as SocketOp[];
const VALIDATORS = new Map(OPS.map((op) => [op as string, validator(SOCKET_FRAMES[op])]));

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

/** @throws ServiceError `missing_authorization_header` where a frame before the login is not `auth` */
export function requireAuth({ op }: RawFrame): void {
  if (op !== 'auth')
    throw new ServiceError(
      'missing_authorization_header',
      'the first frame is auth, with a client token: the bearer token must be present',
    );
}

/** Checks that the fields of a frame are those of its `op`. `group` is the one that the token names. @throws ServiceError */
export function checkFrame(frame: RawFrame, group: string | null): SocketFrame {
  const errors = new ValidationErrors();
  const validate = VALIDATORS.get(frame.op as string);
  if (validate !== undefined) {
    validate(frame, errors);
    inspect(frame, group, errors);
  } else if (frame.op === undefined) errors.missing.add('op', EXPECTED_OPS);
  else errors.invalid.add('op', EXPECTED_OPS);
  if (!errors.clean) throw validationError(errors);
  return frame as unknown as SocketFrame;
}

/** The presence update of a checked frame. */
export function changeOf(frame: SocketFrame<'present' | 'absent'>, group: string | null): PresenceChange {
  return { ...frame, groupID: frame.groupID ?? (group as string) };
}

const EXPECTED_OPS = `one of ${OPS.join(', ')}`;

/** What the schema cannot say. */
function inspect(frame: RawFrame, group: string | null, errors: ValidationErrors): void {
  const { op, groupID = group ?? undefined } = frame;
  if (op === 'present' || op === 'absent') inspectPresence(frame, errors, groupID);
  else if ((op === 'watch' || op === 'watch_threads') && groupID === undefined)
    errors.missing.add('groupID', 'the ID of a group, because the token names none');
}
