/**
 * The least that a durable write over HTTP and PostgreSQL can be: a `node:http` server that reads the body, makes the call of a bare
 * client and answers, without tokens, routes or checks. Takes a {@link BareTarget} as JSON; prints `{"port": …}` when it listens.
 */
import { type BareTarget, bareCall } from './bare-calls.ts';
import { serveBare } from './bare-http.ts';

const call = await bareCall(JSON.parse(process.argv[2] as string) as BareTarget);
let step = 0;

serveBare('updated what was to be updated', (_, body) => {
  JSON.parse(body);
  step += 1;
  return call(step);
});
