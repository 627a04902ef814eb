/** The launcher of the command line, which people and services start too; it keeps the compiled sources for the next start. */
import { join } from 'node:path';

export const LAUNCHER = join(import.meta.dirname, '../../bin/rollcall.mjs');
