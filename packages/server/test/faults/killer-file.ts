/**
 * A test ends a thread of a server by loading thread-killer.ts into the server, and by writing the way to end it into a
 * file.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const KILLER = pathToFileURL(join(import.meta.dirname, 'thread-killer.ts')).href;

/** Written under another name and renamed: the thread may read it at any time. */
export function putFile(path: string, content: string): void {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}
