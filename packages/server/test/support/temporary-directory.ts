/** Directories of tests, where the system has its temporary files. */
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

const prefixOf = (name: string) => join(tmpdir(), `rollcall-${name}-`);

/** A new directory, which is removed at the end of its block: `await using directory = await temporaryDirectory('x')`. */
export const temporaryDirectory = (name: string) => mkdtempDisposable(prefixOf(name));

/** A new directory, which is removed after the tests of the calling file. */
export function directoryOfFile(name: string): string {
  const path = mkdtempSync(prefixOf(name));
  after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
