/**
 * Prints what linters say of each OpenAPI document of the array on standard input, as JSON:
 * `[[{linter, severity, rule, at, message}]]`. `severity` is `error` or `warning`.
 */
import { text } from 'node:stream/consumers';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectralCore from '@stoplight/spectral-core';
import spectralRulesets from '@stoplight/spectral-rulesets';

async function bySpectral(document) {
  const linter = new spectralCore.Spectral();
  linter.setRuleset({ extends: [[spectralRulesets.oas, 'recommended']] });
  const results = await linter.run(JSON.parse(document));
  return results.map(({ severity, code, path, message }) => ({
    linter: 'spectral',
    // 0 is an error; a warning, an information and a hint follow.
    severity: severity === 0 ? 'error' : 'warning',
    rule: code,
    at: path.join('/'),
    message,
  }));
}

async function byRedocly(document) {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source: document, absoluteRef: '/openapi.json', config });
  return problems.map(({ severity, ruleId, location, message }) => ({
    linter: 'redocly',
    severity: severity === 'error' ? 'error' : 'warning',
    rule: ruleId,
    at: location.map(({ pointer }) => pointer).join(),
    message,
  }));
}

const found = [];
for (const document of JSON.parse(await text(process.stdin)))
  found.push([...(await bySpectral(document)), ...(await byRedocly(document))]);
process.stdout.write(JSON.stringify(found));
