/**
 * `npm run example:document`: serves the application on a local port (PORT, or a free one) and starts a temporary Rollcall,
 * whose data is removed at the end.
 */
import process from 'node:process';
import { startTemporaryRollcall, type TemporaryRollcall } from '../facepile/temporary-rollcall.ts';
import { startDocument } from './document-server.ts';

let rollcall: TemporaryRollcall | undefined;
const document = await startDocument(Number(process.env.PORT ?? 0), async (origin) => {
  rollcall = await startTemporaryRollcall(origin);
  return rollcall;
});
process.stdout.write(`
  Open ${document.url} twice, side by side: each window is another user.
  Click a section in one of them, and watch the other. Ctrl-C ends it.

`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await document.close();
    await rollcall?.close();
  });
}
