/** Readers of arguments and options. A value that they reject is bad usage. */
import { limits } from '@rollcall/protocol';
import { type Command, InvalidArgumentError } from 'commander';
import { id, name, type SettingKind, secret, text, wholeNumber } from '../config/setting-kinds.ts';
import { usageError } from './command-error.ts';

/** Reads an option's value by the rules of a kind of setting. */
export const readAs =
  <Value>(kind: SettingKind<Value>) =>
  (value: string): Value => {
    const read = kind.read(value);
    if (read === undefined) throw new InvalidArgumentError(`Expected ${kind.expected}.`);
    return read;
  };

/** No option takes an empty value, such as that of a variable which a script has not set. @throws CommandError */
export function requireValues(command: Command): void {
  for (const option of command.options)
    if (command.getOptionValue(option.attributeName()) === '')
      throw usageError(`${option.long}: expected a value that is not empty`);
}

export const readId = readAs(id);
export const readName = readAs(name);
export const readSecret = readAs(secret);
export const readWorkspace = readAs(text('the name of a workspace'));
/** The life of a token, in seconds. */
export const readTokenLife = readAs(wholeNumber(1, limits.TOKEN_MAX_AGE_SECONDS));
/** How long a previous secret stays valid, in seconds. */
export const readOverlap = readAs(wholeNumber(0, limits.ROTATION_MAX_OVERLAP_SECONDS));
