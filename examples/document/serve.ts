/**
 * `npm run example`: serves the application on a local port (PORT, or a free one) and starts a temporary Rollcall, whose data
 * is removed at the end. With ROLLCALL_URL, ROLLCALL_PROJECT_ID and ROLLCALL_PROJECT_SECRET it uses that server instead,
 * which must run with ROLLCALL_CORS_ORIGINS=http://127.0.0.1:<PORT>.
 */
import process from 'node:process';
import { type Rollcall, startRollcall } from '../../packages/server/src/index.ts';
import { type Service, startDocument } from './document-server.ts';

const { PORT = '0', ROLLCALL_URL, ROLLCALL_PROJECT_ID = '', ROLLCALL_PROJECT_SECRET = '' } = process.env;

let rollcall: Rollcall | undefined;

async function connect(origin: string): Promise<Service> {
  if (ROLLCALL_URL !== undefined) {
    return { url: ROLLCALL_URL, projectID: ROLLCALL_PROJECT_ID, projectSecret: ROLLCALL_PROJECT_SECRET };
  }
  rollcall = await startRollcall({
    environment: { ROLLCALL_CORS_ORIGINS: origin, ROLLCALL_LOG_LEVEL: 'warn' },
  });
  return rollcall;
}

const document = await startDocument(Number(PORT), connect);
process.stdout.write(`
  Open ${document.url} twice, side by side: each window is another user.
  Click a section or scroll in one of them, and watch the other. Ctrl-C ends it.

`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await document.close();
    await rollcall?.close();
  });
}
