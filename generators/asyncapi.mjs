/**
 * Prints what AsyncAPI's parser says of a document on standard input, as JSON: `{isValid, diagnostics: [{severity, rule, at,
 * message}]}`. `severity` is `error` or `warning`.
 */
import { text } from 'node:stream/consumers';
import { Parser } from '@asyncapi/parser';

const { document, diagnostics } = await new Parser().parse(await text(process.stdin));
process.stdout.write(
  JSON.stringify({
    isValid: document !== undefined,
    diagnostics: diagnostics.map(({ severity, code, path, message }) => ({
      // 0 is an error; a warning, an information and a hint follow.
      severity: severity === 0 ? 'error' : 'warning',
      rule: code,
      at: path.join('/'),
      message,
    })),
  }),
);
