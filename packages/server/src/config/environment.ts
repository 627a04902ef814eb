import { closeSync, openSync, readSync } from 'node:fs';
import { getSystemErrorMessage } from 'node:util';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Bad settings. The message is one line for the operator, without any secret. */
export class SettingsError extends Error {}

export type VariableSource =
  | { readonly from: 'environment'; readonly text: string }
  | { readonly from: 'file'; readonly path: string };

/** The variable that names a file with another variable's text: `ROLLCALL_DATABASE_URL_FILE`. */
export const fileVariableOf = (variable: string): string => `${variable}_FILE`;

/** An empty variable counts as absent. Null where neither variable is set. @throws SettingsError where both are */
export function variableSource(environment: Environment, variable: string): VariableSource | null {
  const fileVariable = fileVariableOf(variable);
  const { [variable]: text = '', [fileVariable]: path = '' } = environment;
  if (text !== '' && path !== '') {
    throw new SettingsError(`${variable} and ${fileVariable} are both set: unset one of them`);
  }
  if (path !== '') return { from: 'file', path };
  return text === '' ? null : { from: 'environment', text };
}

/**
 * The text of a variable, or of the file that its file variable names, with the name of the one that is set. Null where
 * neither is. @throws SettingsError
 */
export function readVariable(
  environment: Environment,
  variable: string,
): { readonly name: string; readonly text: string } | null {
  const source = variableSource(environment, variable);
  if (source === null) return null;
  if (source.from === 'environment') return { name: variable, text: source.text };
  const name = fileVariableOf(variable);
  return { name, text: readValueFile(name, source.path) };
}

/** More than any URL or secret has. */
const FILE_MAX_BYTES = 65_536;

/** The only line of the file that a variable names, without its line end. @throws SettingsError */
export function readValueFile(fileVariable: string, path: string): string {
  const rejected = (reason: string) =>
    new SettingsError(`${fileVariable}: the file ${JSON.stringify(path)} ${reason}`);
  let bytes: Buffer;
  try {
    bytes = readAtMost(path, FILE_MAX_BYTES + 1);
  } catch (error) {
    const { errno, message } = error as NodeJS.ErrnoException;
    throw rejected(`cannot be read: ${errno === undefined ? message : getSystemErrorMessage(errno)}`);
  }
  if (bytes.length > FILE_MAX_BYTES) throw rejected(`has more than ${FILE_MAX_BYTES} bytes`);
  const text = decodeUtf8(bytes)?.replace(/[\r\n]+$/, '');
  if (text === undefined) throw rejected('is not text in UTF-8');
  if (text === '') throw rejected('is empty');
  if (/[\r\n]/.test(text)) throw rejected('has more than one line');
  return text;
}

/** Reads in pieces, because a pipe has no size, and `/dev/zero` no end. */
function readAtMost(path: string, maxBytes: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(maxBytes);
    let length = 0;
    while (length < maxBytes) {
      const count = readSync(file, bytes, length, maxBytes - length, null);
      if (count === 0) break;
      length += count;
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
