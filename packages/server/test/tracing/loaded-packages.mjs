/** Prints each module of OpenTelemetry that the process loads, to standard error. */
import { registerHooks } from 'node:module';
import process from 'node:process';

registerHooks({
  load(url, context, nextLoad) {
    if (url.includes('/@opentelemetry/')) process.stderr.write(`loaded ${url}\n`);
    return nextLoad(url, context);
  },
});
