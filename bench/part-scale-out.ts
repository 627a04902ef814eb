import { absentServers } from '../packages/server/test/support/servers.ts';
import { projectToken } from './credentials.ts';
import type { Pace } from './measure.ts';
import { othersMeanwhile } from './part-batch.ts';
import { freshDirectory, startServer } from './processes.ts';
import { say } from './report.ts';
import { scaleOutBatch } from './scale-out-batch.ts';
import { scaleOutOperations } from './scale-out-operations.ts';
import { makePlace } from './scale-out-place.ts';

/** The scale-out engine beside what the same PostgreSQL and Redis give a bare client. */
export async function scaleOutPart(pace: Pace): Promise<void> {
  say('### PostgreSQL and Redis, one process on one core, 32 connections');
  say();
  const absent = await absentServers();
  if (absent.length > 0) {
    say(`Not measured: ${absent.join('; ')}.`);
    say();
    return;
  }
  const token = await projectToken();
  const place = await makePlace();
  try {
    const options = { dataDir: freshDirectory(), ...place.urls };
    const server = await startServer('rollcall-server.ts', JSON.stringify(options));
    await scaleOutOperations(pace, token, server, place);
    await scaleOutBatch(token, server, place);
    await othersMeanwhile(pace, server, token, false);
    await server.stop();
  } finally {
    await place.remove();
  }
}
