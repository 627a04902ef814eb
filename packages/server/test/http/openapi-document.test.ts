import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { ERRORS } from '@rollcall/protocol';
import { Validator } from '@seriousme/openapi-schema-validator';
import manifest from '../../package.json' with { type: 'json' };
import type { MediaType, Response, Schema } from '../../src/api-description/openapi-document.ts';
import { oneServer } from '../support/one-server.ts';
import { ApiDescription, type DescribedOperation, pointerTo } from './api-description.ts';

const server = oneServer();
let api: ApiDescription;

before(async () => {
  api = await ApiDescription.of((await server.started).url);
});

/** Every object in a JSON value, with where it is. */
function* objectsIn(value: unknown, pointer = ''): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [pointer, value as Record<string, unknown>];
  for (const [name, inside] of Object.entries(value)) yield* objectsIn(inside, pointer + pointerTo(name));
}

describe('the document', () => {
  test('the API description is valid OpenAPI 3.1 to an independent validator, and every $ref resolves', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate({ ...structuredClone(api.document) });
    assert.ok(valid, JSON.stringify(errors));
    assert.equal(validator.version, '3.1');
    for (const [pointer, { $ref }] of objectsIn(api.document)) {
      if (typeof $ref === 'string') api.resolve({ $ref }, pointer);
    }
  });

  test('the API description names the product, its version and its licence, and its server is relative', () => {
    const { info, servers } = api.document;
    assert.deepEqual([info.title, info.version], ['Rollcall', manifest.version]);
    assert.equal(info.license.identifier, 'MIT');
    assert.deepEqual(
      servers.map(({ url }) => url),
      ['/'],
    );
  });

  test('the API description has what is sent to a webhook, with the schema of a change', () => {
    const { webhooks } = api.document as unknown as {
      webhooks: Record<string, { post: { requestBody: { content: Record<string, MediaType> } } }>;
    };
    const schema = webhooks.delivery?.post.requestBody.content['application/json']?.schema;
    assert.deepEqual(schema, { $ref: '#/components/schemas/WebhookDelivery' });
    const { properties } = api.document.components.schemas.WebhookDelivery as Schema;
    assert.deepEqual(properties?.changes?.items, { $ref: '#/components/schemas/RecordedChange' });
  });

  test('the API description names a bound of every body, the default of the operator where it has no other', () => {
    assert.doesNotMatch(JSON.stringify(api.document), /Infinity|NaN|undefined/);
    assert.match(JSON.stringify(api.document), /larger than the operator allows \(32 MiB by default\)/);
    assert.match(JSON.stringify(api.document), /larger than 1 MiB, or than the operator allows/);
  });

  test('the API description refers to every component that it has', () => {
    const referred = new Set([...objectsIn(api.document)].map(([, { $ref }]) => $ref));
    for (const kind of ['schemas', 'responses', 'parameters', 'examples', 'headers'] as const) {
      for (const name of Object.keys(api.document.components[kind])) {
        assert.ok(referred.has(`#/components/${kind}/${name}`), `${kind}/${name} is used nowhere`);
      }
    }
  });

  test('the API description refers to Group, User and the other schemas instead of repeating them', () => {
    const texts = new Map(
      Object.entries(api.document.components.schemas).map(([name, schema]) => {
        const { description: _description, ...rest } = schema;
        return [JSON.stringify(rest), name];
      }),
    );
    for (const [pointer, object] of objectsIn(api.document.paths)) {
      const { description: _description, ...rest } = object;
      const name = texts.get(JSON.stringify(rest));
      assert.equal(name, undefined, `${pointer} repeats ${name}`);
    }
  });

  test("the API description has no keyword that only the server's validator knows", () => {
    for (const [pointer, object] of objectsIn(api.document)) {
      assert.ok(!Object.hasOwn(object, 'x-text'), pointer);
      assert.ok(!Object.hasOwn(object, 'x-portable-pattern'), pointer);
      assert.notEqual(object.format, 'http-url', pointer);
    }
    assert.equal(api.document.components.schemas.Metadata?.['x-maxBytes'], 16_384);
  });

  test('every example of the API description matches its schema', () => {
    let count = 0;
    for (const [pointer, object] of objectsIn(api.document)) {
      const {
        schema,
        example,
        examples = {},
      } = object as { schema?: object; example?: unknown; examples?: object };
      if (schema === undefined) continue;
      const shown = Object.values(examples).map(
        (each) => api.resolve<{ value: unknown }>(each, pointer).value.value,
      );
      for (const value of example === undefined ? shown : [example, ...shown]) {
        count += 1;
        api.expectValid(`${pointer}/schema`, value, pointer);
      }
    }
    assert.ok(count > 500);
  });

  test('every pattern of the API description is one that regular expressions of other languages take', () => {
    let count = 0;
    for (const [pointer, { pattern }] of objectsIn(api.document)) {
      if (typeof pattern !== 'string') continue;
      count += 1;
      // Escapes of one byte, classes, groups, choices and repetitions: what JSON Schema recommends, and RE2 takes.
      assert.match(pattern, /^(?:\\x[0-9a-f]{2}|\\[.]|[^\\])*$/, pointer);
      assert.doesNotMatch(pattern, /\(\?/, pointer);
      for (const flags of ['', 'u', 'v']) assert.doesNotThrow(() => new RegExp(pattern, flags), pointer);
    }
    assert.ok(count >= 3);
  });

  test('the patterns of the API description take all that the server takes', () => {
    const { schemas } = api.document.components;
    const isId = new RegExp(String(schemas.Id?.pattern), 'u');
    for (const id of ['a', 'team/ops', '\u{1f600}', 'é e', '..']) assert.match(id, isId);
    for (const id of ['', 'a\0', '\n', '\x7f', '\x9f']) assert.doesNotMatch(id, isId);
    const isEmail = new RegExp(String(schemas.UserWrite?.properties?.email?.pattern), 'u');
    for (const email of ['', 'a@b', 'ü@exämple.org', 'a.b+c@d.e.f']) assert.match(email, isEmail);
    for (const email of ['a', 'a@', '@b', 'a@b.', 'a@b..c', 'a b@c']) assert.doesNotMatch(email, isEmail);
  });

  test('the API description describes every field of every schema', () => {
    for (const [pointer, { properties }] of objectsIn(api.document)) {
      if (typeof properties !== 'object' || /\/(allOf|examples)\//.test(pointer)) continue;
      for (const [name, field] of Object.entries(properties as Record<string, Schema>)) {
        assert.match(field.description ?? '', /^[A-Z`].{4,}\.$/s, `${pointer}: ${name}`);
        // A description that only repeats the type is that of error messages.
        assert.doesNotMatch(
          field.description ?? '',
          /^(True or false|(A|An) (string|array|object|JSON|whole))/,
          pointer,
        );
      }
    }
  });

  test('the API description has every code of the error table in Error, and an example of each', () => {
    const codes = Object.keys(ERRORS);
    assert.deepEqual(api.document.components.schemas.Error?.properties?.error?.enum, codes);
    assert.deepEqual(Object.keys(api.document.components.examples), codes);
  });

  test('the API description is built once: every request gets the same bytes', async () => {
    const read = async () => (await server.running.request('GET', '/openapi.json')).text;
    assert.equal(await read(), await read());
  });
});

describe('every operation', () => {
  const each = (check: (described: DescribedOperation) => void) => () => {
    for (const described of api.operations) check(described);
  };

  test('every operation of the API description has an ID of its own', () => {
    const ids = api.operations.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
  });

  test('every operation of the API description has a summary and a longer description', () => {
    for (const { operation } of api.operations) {
      assert.match(operation.summary, /^[A-Z].{5,}[^.]$/, operation.operationId);
      assert.match(operation.description, /^(- \*\*|[A-Z`]).{15,}\.$/s, operation.operationId);
      assert.notEqual(operation.description, operation.summary);
    }
  });

  test('every operation of the API description has one tag that is described', () => {
    const tags = api.document.tags.map(({ name }) => name);
    for (const { operation } of api.operations) {
      assert.equal(operation.tags.length, 1, operation.operationId);
      assert.ok(tags.includes(operation.tags[0] as string), operation.operationId);
    }
    const used = new Set(api.operations.flatMap(({ operation }) => operation.tags));
    assert.deepEqual([...used].sort(), [...tags].sort());
  });

  test(
    'every operation of the API description describes all of its parameters, also those of its path',
    each((described) => {
      const parameters = api.parameters(described);
      for (const { name, description, schema } of parameters) {
        assert.ok(description.length > 5, name);
        assert.notEqual(schema, undefined, name);
      }
      const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
      assert.deepEqual(inPath, described.path.match(/\{[^}]+\}/g) ?? []);
    }),
  );

  test(
    'every operation of the API description with a body has a request example',
    each(({ operation }) => {
      const media = operation.requestBody?.content['application/json'];
      if (media === undefined) return;
      assert.ok(Object.keys(media.examples ?? {}).length > 0, operation.operationId);
    }),
  );

  test(
    'every operation of the API description has a success with an example that matches its schema',
    each((described) => {
      const { operation } = described;
      const successes = Object.keys(operation.responses).filter((status) => /^[12]/.test(status));
      // `putWebhook` has a second success: the creation, whose answer has the secret.
      const expected = operation.operationId === 'putWebhook' ? 2 : 1;
      assert.equal(successes.length, expected, operation.operationId);
      for (const status of successes) {
        const { value, pointer } = api.response(described, Number(status));
        for (const [type, media] of Object.entries(value.content ?? {})) {
          const at = `${pointer}/content/${type.replace('/', '~1')}/schema`;
          api.expectValid(at, exampleOf(media), operation.operationId);
        }
      }
    }),
  );

  test(
    'every operation of the API description has its errors in one shape, each code with its status or in its situation',
    each((described) => {
      const errors = Object.keys(described.operation.responses).filter((status) => status >= '400');
      assert.ok(errors.includes('400') && errors.includes('500'), described.operation.operationId);
      for (const status of errors) expectErrors(described, Number(status));
    }),
  );

  test(
    'every operation of the API description names the token that it needs, unless it is open',
    each(({ path, method, operation }) => {
      const schemes = operation.security.flatMap((requirement) => Object.keys(requirement));
      assert.deepEqual(schemes, tokensOf(path, method), operation.operationId);
      assert.equal('401' in operation.responses, schemes.length > 0 || path === '/v1/authorize');
      for (const scheme of schemes) assert.ok(Object.hasOwn(api.document.components.securitySchemes, scheme));
    }),
  );

  test('every operation of the organization alias, and no other, is marked as the older name', () => {
    for (const { path, operation } of api.operations) {
      assert.equal(operation.deprecated === true, path.startsWith('/v1/organizations'), path);
      if (operation.deprecated !== true) continue;
      assert.ok(!JSON.stringify(operation).includes('group_not_found'), operation.operationId);
    }
  });
});

function exampleOf({ examples = {} }: MediaType): unknown {
  const [example] = Object.values(examples);
  assert.ok(example !== undefined && 'value' in example);
  return example.value;
}

function tokensOf(path: string, method: string): string[] {
  if (!path.startsWith('/v1/') || (path === '/v1/authorize' && method === 'post')) return [];
  // The token of a socket comes in its first frame.
  if (path === '/v1/client/socket') return [];
  if (path.startsWith('/v1/client/')) return ['clientToken'];
  return [path.startsWith('/v1/projects') ? 'customerToken' : 'projectToken'];
}

/** Statuses that the contract gives to `invalid_request` and `error` beside their own. */
const SITUATIONS: Readonly<Record<number, string>> = {
  403: 'invalid_request',
  410: 'invalid_request',
  412: 'invalid_request',
  413: 'invalid_request',
  426: 'invalid_request',
  429: 'invalid_request',
  503: 'error',
};

function expectErrors(described: DescribedOperation, status: number): void {
  const { value, pointer } = api.response(described, status);
  const media = (value as Response).content?.['application/json'] as MediaType;
  const [error, narrowed] = media.schema.allOf as [Schema, Schema];
  assert.equal(error.$ref, '#/components/schemas/Error', pointer);
  const codes = narrowed.properties?.error?.enum as (keyof typeof ERRORS)[];
  assert.ok(codes.length > 0, pointer);
  for (const code of codes) {
    assert.ok(ERRORS[code].status === status || SITUATIONS[status] === code, `${pointer}: ${code}`);
    assert.ok(
      value.description.includes(`\`${code}\`: `),
      `${pointer} does not name the condition of ${code}`,
    );
  }
  const examples = Object.entries(media.examples ?? {});
  assert.deepEqual(
    examples.map(([code]) => code),
    codes,
  );
  for (const [code, example] of examples) {
    const { value: shown } = api.resolve<{ value: unknown }>(example as { value: unknown }, pointer);
    api.expectValid(`${pointer}/content/application~1json/schema`, shown.value, `${pointer}: ${code}`);
  }
}
