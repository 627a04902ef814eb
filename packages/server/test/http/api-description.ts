/** The API description of a running server, and checks of real answers against it by an independent validator. */
import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from '../../src/api-description/build-document.ts';
import type { Operation, Parameter, Response } from '../../src/api-description/openapi-document.ts';
import { expectOk } from '../support/expect.ts';
import { type Answer, send } from '../support/http-client.ts';

/** An operation and where it is. */
export interface DescribedOperation {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

const KEY = 'openapi.json';
export const pointerTo = (...steps: string[]) =>
  steps.map((step) => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');

export class ApiDescription {
  readonly document: OpenApiDocument;
  readonly operations: readonly DescribedOperation[];
  readonly #ajv: Ajv2020;

  constructor(document: OpenApiDocument) {
    this.document = document;
    this.operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    addFormats.default(this.#ajv);
    this.#ajv.addSchema(document, KEY);
  }

  static async of(url: string): Promise<ApiDescription> {
    return new ApiDescription(expectOk<OpenApiDocument>(await send(url, 'GET', '/openapi.json')));
  }

  operation(operationId: string): DescribedOperation {
    const found = this.operations.find(({ operation }) => operation.operationId === operationId);
    assert.ok(found !== undefined, `${operationId} is not described`);
    return found;
  }

  /** The target of a reference with its pointer; a value that is no reference is returned with its own pointer. */
  resolve<T extends object>(value: T | { $ref: string }, pointer: string): { value: T; pointer: string } {
    if (!('$ref' in value)) return { value, pointer };
    const found = value.$ref
      .slice(2)
      .split('/')
      .reduce<unknown>(
        (inside, step) => (inside as Record<string, unknown> | undefined)?.[step],
        this.document,
      );
    assert.ok(found !== undefined, `${value.$ref} leads nowhere`);
    return { value: found as T, pointer: value.$ref.slice(1) };
  }

  parameters({ operation, path, method }: DescribedOperation): Parameter[] {
    const pointer = pointerTo('paths', path, method, 'parameters');
    return operation.parameters.map((parameter) => this.resolve<Parameter>(parameter, pointer).value);
  }

  /** The described answer of a status, and its pointer. */
  response({ path, method, operation }: DescribedOperation, status: number) {
    const response = operation.responses[status];
    assert.ok(response !== undefined, `${operation.operationId} does not describe ${status}`);
    return this.resolve<Response>(response, pointerTo('paths', path, method, 'responses', String(status)));
  }

  /** Validates values against the schema at a JSON pointer of the document. */
  validator(pointer: string): ValidateFunction {
    return this.#ajv.compile({ $ref: `${KEY}#${pointer}` });
  }

  expectValid(pointer: string, value: unknown, what: string): void {
    const validate = this.validator(pointer);
    assert.ok(validate(value), `${what}: ${this.#ajv.errorsText(validate.errors)}`);
  }

  /** Checks that status, content type, headers and body of a real answer are as described. */
  expectDescribed(described: DescribedOperation, answer: Answer): void {
    const what = `${described.operation.operationId} ${answer.status} ${answer.text.slice(0, 200)}`;
    const { value, pointer } = this.response(described, answer.status);
    assert.equal(typeof answer.headers['x-request-id'], 'string', what);
    if (answer.headers.etag !== undefined)
      assert.ok(Object.hasOwn(value.headers ?? {}, 'ETag'), `${what}: ETag`);
    const type = String(answer.headers['content-type']).split(';', 1)[0] as string;
    if (value.content === undefined) {
      assert.equal(answer.text, '', what);
      return;
    }
    assert.ok(Object.hasOwn(value.content, type), `${what}: ${type} is not described`);
    if (type !== 'application/json') return;
    this.expectValid(`${pointer}${pointerTo('content', type, 'schema')}`, answer.json(), what);
  }
}
