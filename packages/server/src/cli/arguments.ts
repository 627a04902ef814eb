/** Readers of arguments and options; what they refuse is bad usage. */
import { Findings, inspector, limits, Name } from '@rollcall/protocol';
import { InvalidArgumentError } from 'commander';
import { id, type SettingKind, secret, text, wholeNumber } from '../config/setting-kinds.ts';

const readAs =
  <Value>(kind: SettingKind<Value>) =>
  (value: string): Value => {
    const read = kind.read(value);
    if (read === undefined) throw new InvalidArgumentError(`Expected ${kind.expected}.`);
    return read;
  };

export const readId = readAs(id);
export const readSecret = readAs(secret);
export const readWorkspace = readAs(text('the name of a workspace'));
/** The life of a token, in seconds. */
export const readTokenLife = readAs(wholeNumber(1, limits.TOKEN_MAX_AGE_SECONDS));
/** How long an old secret goes on, in seconds. */
export const readOverlap = readAs(wholeNumber(0, limits.ROTATION_MAX_OVERLAP_SECONDS));

const inspectName = inspector(Name);

export function readName(value: string): string {
  const findings = new Findings();
  inspectName(value, findings);
  if (!findings.clean) throw new InvalidArgumentError(`Expected ${findings.invalid.named[0]?.expected}.`);
  return value;
}
