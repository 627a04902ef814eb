/**
 * Prints what AsyncAPI's parser says of each document of the array on standard input, as JSON: `[{isValid, diagnostics:
 * [{severity, rule, at, message}]}]`. `severity` is `error` or `warning`.
 */
import { text } from 'node:stream/consumers';
import { Parser } from '@asyncapi/parser';

async function judgementOf(source) {
  const { document, diagnostics } = await new Parser().parse(source);
  return {
    isValid: document !== undefined,
    diagnostics: diagnostics.map(({ severity, code, path, message }) => ({
      // 0 is an error; a warning, an information and a hint follow.
      severity: severity === 0 ? 'error' : 'warning',
      rule: code,
      at: path.join('/'),
      message,
    })),
  };
}

const judgements = [];
for (const source of JSON.parse(await text(process.stdin))) judgements.push(await judgementOf(source));
process.stdout.write(JSON.stringify(judgements));
