import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import ts from 'typescript';
import { closedAfterTests } from '../../server/test/support/closing.ts';
import { oneServer } from '../../server/test/support/one-server.ts';
import { Rollcall, RollcallClient } from '../src/index.ts';
import { type ClientTokenOptions, signClientToken, signProjectToken } from '../src/server/index.ts';

const server = oneServer();
const closed = closedAfterTests();

async function project() {
  const { id, secret } = await server.project();
  const { url } = server.running;
  const sign = { projectID: id, secret };
  const rollcall = closed(new Rollcall({ url, token: () => signProjectToken(sign) }));
  const client = (options: Partial<ClientTokenOptions>) =>
    closed(
      new RollcallClient({
        url,
        token: () => signClientToken({ ...sign, userID: 'ada', ...options }),
        retries: 0,
      }),
    );
  return { url, sign, rollcall, client };
}

const claimsOf = (token: string) => JSON.parse(String(Buffer.from(token.split('.')[1] ?? '', 'base64url')));

describe('@rollcall/client/server', () => {
  test('a signed project token opens the data of the project', async () => {
    const { rollcall } = await project();
    await rollcall.users.put('ada', { name: 'Ada' });
    assert.equal((await rollcall.users.get('ada')).name, 'Ada');
  });

  test('a signed client token logs its user in, with the groups that it opens', async () => {
    const { rollcall, client } = await project();
    const members = ['ada', '🦊/né'];
    const groups = ['docs', 'design'].map((id) => ({ id, name: id, members }));
    await rollcall.batch({ users: members.map((id) => ({ id })), groups });
    const all = await client({ userID: '🦊/né' }).viewer();
    assert.deepEqual([all.user.id, all.groups.map(({ id }) => id)], ['🦊/né', ['design', 'docs']]);
    const one = await client({ groupID: 'docs' }).viewer();
    assert.deepEqual([one.user.id, one.groups.map(({ id }) => id)], ['ada', ['docs']]);
  });

  test('user_details of a signed client token create the user', async () => {
    const { client } = await project();
    const { user } = await client({ userID: 'new', userDetails: { name: 'Zoë' } }).viewer();
    assert.deepEqual([user.id, user.name], ['new', 'Zoë']);
  });

  test('a token has iat and exp, 600 seconds apart unless another life is given', async () => {
    const { sign } = await project();
    const { iat, exp } = claimsOf(await signClientToken({ ...sign, userID: 'ada' }));
    assert.equal(exp - iat, 600);
    const longest = claimsOf(await signProjectToken({ ...sign, expiresInSeconds: 86_400 }));
    assert.deepEqual(Object.keys(longest), ['project_id', 'iat', 'exp']);
    assert.equal(longest.exp - longest.iat, 86_400);
  });

  test('a token that is signed with another secret is invalid_project_token', async () => {
    const { sign, client } = await project();
    await assert.rejects(client({ secret: `${sign.secret} ` }).viewer(), { code: 'invalid_project_token' });
  });

  for (const name of ['userID', 'groupID', 'projectID', 'secret']) {
    for (const value of name === 'groupID' ? [null, '', 7] : [undefined, null, '', 7]) {
      test(`no client token is signed when ${name} is ${JSON.stringify(value)}`, async () => {
        const options = { projectID: 'p', secret: 's', userID: 'ada', [name]: value };
        const message = `${name} is missing: expected a string that is not empty`;
        await assert.rejects(signClientToken(options as ClientTokenOptions), { name: 'TypeError', message });
      });
    }
  }

  for (const expiresInSeconds of [0, -1, 86_401, Number.NaN, Number.POSITIVE_INFINITY]) {
    test(`no token is signed that expires in ${expiresInSeconds} seconds`, async () => {
      const options = { projectID: 'p', secret: 's', expiresInSeconds };
      await assert.rejects(signProjectToken(options), { name: 'RangeError' });
    });
  }

  test('a token is signed where there is nothing but the web platform, as in an edge runtime', async () => {
    const { url, sign } = await project();
    const source = await readFile(join(import.meta.dirname, '../src/server/sign-token.ts'), 'utf8');
    const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
    const { outputText } = ts.transpileModule(source, { compilerOptions });
    const exports: Partial<typeof import('../src/server/index.ts')> = {};
    runInContext(outputText, createContext({ exports, crypto, TextEncoder, Uint8Array, btoa }));
    const token = await exports.signProjectToken?.(sign);
    const answer = await fetch(`${url}/v1/groups`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 200, await answer.text());
  });
});
