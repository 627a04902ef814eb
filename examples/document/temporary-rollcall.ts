import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings } from '../../packages/server/src/config/settings.ts';
import { start } from '../../packages/server/src/start.ts';
import type { Service } from './document-server.ts';

export interface TemporaryRollcall extends Service {
  /** Stops it and removes what it stored. */
  close(): Promise<void>;
}

/** Starts a Rollcall on a free port that accepts requests of pages of this origin. */
export async function startTemporaryRollcall(origin: string): Promise<TemporaryRollcall> {
  const dataDir = await mkdtemp(join(tmpdir(), 'rollcall-example-'));
  const credentials = { projectID: 'example', secret: randomBytes(32).toString('base64url') };
  const removeData = () => rm(dataDir, { recursive: true, force: true });
  const settings = loadSettings({
    ROLLCALL_PORT: '0',
    ROLLCALL_DATA_DIR: dataDir,
    ROLLCALL_CORS_ORIGINS: origin,
    ROLLCALL_LOG_LEVEL: 'warn',
    ROLLCALL_CUSTOMER_ID: 'example',
    ROLLCALL_CUSTOMER_SECRET: randomBytes(32).toString('base64url'),
    ROLLCALL_PROJECT_ID: credentials.projectID,
    ROLLCALL_PROJECT_SECRET: credentials.secret,
  });
  try {
    const { url, close } = await start(settings);
    return { ...credentials, url, close: () => close().finally(removeData) };
  } catch (error) {
    await removeData();
    throw error;
  }
}
