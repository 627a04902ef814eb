import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { withServe } from '../cli/cli-process.ts';
import { withDataDir } from '../support/server.ts';
import { tableOf } from './markdown.ts';
import { type Example, examplesOf, runInBash } from './page-examples.ts';
import { expectHttp, expectJson, jsonValues } from './shown-answers.ts';

const noShell = ['bash', 'curl'].find((program) => spawnSync(program, ['--version']).error !== undefined);
const skip = noShell === undefined ? false : `this machine has no ${noShell}`;

interface Ran {
  readonly outputs: readonly string[];
  readonly openapi: { readonly paths: Readonly<Record<string, object>> };
}

/** Pastes the examples of a page into a shell, beside a server that has just been started for the first time. */
const runOnFirstStart = (examples: readonly Example[]): Promise<Ran> =>
  withDataDir((directory) =>
    withServe(join(directory, 'data'), [], async ({ url }) => {
      const blocks = examples.map(({ code }) => code);
      const outputs = await runInBash(blocks, { url, directory });
      const openapi = (await (await fetch(`${url}/openapi.json`)).json()) as Ran['openapi'];
      return { outputs, openapi };
    }),
  );

for (const page of ['README.md', 'docs/api.md', 'docs/errors.md']) {
  describe(`${page}, pasted from top to bottom`, { skip }, () => {
    const examples = examplesOf(page);
    let ran: Ran;
    before(async () => {
      ran = await runOnFirstStart(examples);
    });

    for (const [index, example] of examples.entries()) {
      test(`${example.source} answers as the page shows`, () =>
        expectAnswered(example, ran.outputs[index] as string));
    }

    if (page === 'docs/api.md') {
      test('the table of endpoints in docs/api.md has every operation of the API, and no other', () => {
        const described = Object.entries(ran.openapi.paths).flatMap(([path, item]) =>
          Object.keys(item).map((method) => endpoint(method, path)),
        );
        const listed = tableOf(page, 'Endpoint').map(([cell = '']) => cell);
        assert.deepEqual(listed.toSorted(), described.toSorted());
      });
    }
  });
}

/** Names an operation as pages do: `GET /v1/groups/<ID>`. */
const endpoint = (method: string, path: string) =>
  `${method.toUpperCase()} ${path
    .replace('{user_id}', '<USER_ID>')
    .replace('{message_id}', '<MESSAGE_ID>')
    .replace(/\{\w+\}/, '<ID>')}`;

function expectAnswered({ code, shown, after }: Example, output: string): void {
  if (shown?.language === 'json') expectJson(output, shown.code);
  else if (shown?.language === 'http') expectHttp(output, shown.code);
  else if (code.includes('curl')) expectSpokenOf(output, after);
}

/** An example without a shown answer succeeds, or the text after it names its error. */
function expectSpokenOf(output: string, text: string): void {
  for (const answer of jsonValues(output)) {
    const { error } = answer as { error?: string };
    assert.ok(error === undefined || text.includes(error), `${JSON.stringify(answer)} is not spoken of`);
  }
}
