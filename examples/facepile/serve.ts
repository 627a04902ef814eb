/**
 * `npm run example`: the page at a port of this machine (PORT, or a free one) beside a Rollcall of its own that forgets
 * everything at the end. With ROLLCALL_URL, ROLLCALL_PROJECT_ID and ROLLCALL_PROJECT_SECRET it uses that one instead,
 * which must have been started with ROLLCALL_CORS_ORIGINS=http://127.0.0.1:<PORT>.
 */
import process from 'node:process';
import { type Service, startFacepile } from './facepile-server.ts';
import { startTemporaryRollcall, type TemporaryRollcall } from './temporary-rollcall.ts';

const { PORT = '0', ROLLCALL_URL, ROLLCALL_PROJECT_ID = '', ROLLCALL_PROJECT_SECRET = '' } = process.env;

let temporary: TemporaryRollcall | undefined;

async function connect(origin: string): Promise<Service> {
  if (ROLLCALL_URL !== undefined) {
    return { url: ROLLCALL_URL, projectId: ROLLCALL_PROJECT_ID, secret: ROLLCALL_PROJECT_SECRET };
  }
  temporary = await startTemporaryRollcall(origin);
  return temporary;
}

const facepile = await startFacepile(Number(PORT), connect);
process.stdout.write(`
  Open ${facepile.url} twice, side by side: each window is somebody else.
  Scroll in one of them, and watch the other. Ctrl-C ends it.

`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await facepile.close();
    await temporary?.close();
  });
}
