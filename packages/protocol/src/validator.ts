/**
 * Validates parsed JSON against a schema and sorts the errors into the contract's three steps (unexpected, missing and
 * invalid fields), each with its JSON path (see ADR 5). Schemas are plain JSON Schema; a keyword
 * that is not supported makes {@link validator} throw, so that none is ignored silently.
 */
import { contentErrors, contentFits } from './content.ts';
import { CONTENT_MAX_BYTES } from './limits.ts';
import type { Problems, ValidationErrors } from './validation-errors.ts';
import { type Schema, valueCheck } from './value-check.ts';

/** Adds the validation errors of `value` to `errors`. */
export type Validator = (value: unknown, errors: ValidationErrors) => void;

/** The keys from the root to the current value. A stack: the path is formatted only for an error. */
type Keys = (string | number)[];
type ChildrenValidator = (value: unknown, keys: Keys, errors: ValidationErrors) => void;

interface Compiled {
  /** Whether the value has the type and bounds of the schema, apart from its properties or items. */
  readonly fits: (value: unknown) => boolean;
  readonly expected: string;
  readonly validateChildren: ChildrenValidator | null;
}

/** Compiles a schema. @throws Error when the schema has a keyword that is not supported */
export function validator(schema: object): Validator {
  const { fits, expected, validateChildren } = compile(schema as Schema);
  return (value, errors) => {
    if (!fits(value)) errors.invalid.add('the body', expected);
    else if (validateChildren !== null) validateChildren(value, [], errors);
  };
}

/** Formats the path of named errors only: a hostile body has millions of others. */
function report(problems: Problems, keys: Keys, key: string | number, expected: string): void {
  if (problems.isFull) problems.count += 1;
  else problems.add(pathOf([...keys, key]), expected);
}

/** `members[3]`, `users[3].nick`. */
function pathOf(keys: Keys): string {
  return keys.reduce<string>((path, key) => {
    if (typeof key === 'number') return `${path}[${key}]`;
    return path === '' ? key : `${path}.${key}`;
  }, '');
}

function compile(schema: Schema): Compiled {
  assertSupported(schema);
  return {
    fits: valueCheck(schema),
    expected: String(schema.description ?? 'another value'),
    validateChildren:
      schema.properties !== undefined
        ? propertiesValidator(schema)
        : schema['x-content'] === true
          ? validateContent
          : schema.items !== undefined
            ? itemsValidator(schema)
            : null,
  };
}

function propertiesValidator(schema: Schema): ChildrenValidator {
  const schemas = schema.properties as Record<string, Schema>;
  const properties = new Map(Object.entries(schemas).map(([name, inner]) => [name, compile(inner)]));
  const required = (schema.required ?? []) as readonly string[];
  const names = properties.size === 0 ? 'none' : [...properties.keys()].join(', ');
  return (value, keys, errors) => {
    const object = value as Record<string, unknown>;
    for (const name in object) {
      const property = properties.get(name);
      if (property === undefined) report(errors.unexpected, keys, name, names);
      else validateChild(property, object[name], name, keys, errors);
    }
    for (const name of required) {
      if (!Object.hasOwn(object, name))
        report(errors.missing, keys, name, String(schemas[name]?.description ?? 'a value'));
    }
  };
}

function itemsValidator(schema: Schema): ChildrenValidator {
  const item = compile(schema.items as Schema);
  return (value, keys, errors) => {
    const array = value as unknown[];
    for (let index = 0; index < array.length; index += 1)
      validateChild(item, array[index], index, keys, errors);
  };
}

const validateContent: ChildrenValidator = (value, keys, errors) => {
  const content = value as unknown[];
  const before = errors.invalid.count;
  contentErrors(content, (path, expected) => {
    const at = [...keys, ...path];
    report(errors.invalid, at.slice(0, -1), at.at(-1) as string | number, expected);
  });
  // Content with errors may not be serialisable.
  if (errors.invalid.count === before && !contentFits(content))
    report(
      errors.invalid,
      keys.slice(0, -1),
      keys.at(-1) as string,
      `at most ${CONTENT_MAX_BYTES} bytes of JSON`,
    );
};

function validateChild(
  { fits, expected, validateChildren }: Compiled,
  value: unknown,
  key: string | number,
  keys: Keys,
  errors: ValidationErrors,
): void {
  if (!fits(value)) {
    report(errors.invalid, keys, key, expected);
  } else if (validateChildren !== null) {
    keys.push(key);
    validateChildren(value, keys, errors);
    keys.pop();
  }
}

const SUPPORTED = new Set(
  `type properties required additionalProperties items minItems maxItems minLength maxLength pattern format const enum
   minimum maximum minProperties maxProperties propertyNames description default x-named x-portable-pattern x-text x-maxBytes x-content x-meaning x-rule x-example`.split(
    /\s+/,
  ),
);

function assertSupported(schema: Schema): void {
  for (const keyword of Object.keys(schema)) {
    if (!SUPPORTED.has(keyword)) throw new Error(`the schema keyword ${keyword} is not supported`);
  }
  if (schema.type === undefined && schema.const === undefined && schema.enum === undefined) {
    throw new Error('a schema needs a type, a const or an enum');
  }
}
