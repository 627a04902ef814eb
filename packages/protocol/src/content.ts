/** The content of a message: a tree of nodes, such as paragraphs, links and mentions. */
import { isJsonObject } from './json.ts';
import { CONTENT_MAX_BYTES, CONTENT_MAX_LEVELS, CONTENT_MAX_NODES, URL_MAX_LENGTH } from './limits.ts';
import {
  constant,
  exactly,
  type Flat,
  flag,
  integer,
  list,
  maybe,
  meaning,
  object,
  type Schema,
  type Static,
  text,
} from './schema.ts';
import { valueCheck } from './value-check.ts';
import { Id } from './values.ts';

const format = (text: string) => meaning(maybe(flag({ description: 'true or false' })), text);
const Indent = meaning(
  maybe(integer({ minimum: 0, maximum: 100, description: 'a whole number from 0 to 100' })),
  'How many steps the item is indented.',
);
const User = object(
  { id: meaning(Id, 'The ID of the user, who must exist.') },
  { description: 'an object with the id of a user, and nothing else', 'x-meaning': 'The user.' },
);
const LinkUrl = text({
  maxLength: URL_MAX_LENGTH,
  format: 'link-url',
  description: `an absolute http, https or mailto URL of at most ${URL_MAX_LENGTH} characters`,
});

/** What a text of a user is. */
export const TEXT_EXPECTED = 'a string without U+0000 and lone surrogates';

/** A text: the only node without `type` and `children`. */
const TextNode = {
  text: meaning(text({ 'x-text': true, description: TEXT_EXPECTED }), 'The text.'),
  bold: format('Whether it is bold.'),
  italic: format('Whether it is italic.'),
  underline: format('Whether it is underlined.'),
  code: format('Whether it is code.'),
};

/** For the API description; {@link contentErrors} checks nodes. */
const ContentText = exactly(TextNode, { 'x-meaning': 'A text in the content of a message.' });

/** The fields of each type of node besides `type` and `children`. */
const ATTRIBUTES = {
  p: {},
  quote: {},
  code: {},
  bullet: { indent: Indent },
  number_bullet: {
    bulletNumber: meaning(
      integer({ minimum: 0, description: 'a whole number, 0 or more' }),
      'The number before the item.',
    ),
    indent: Indent,
  },
  link: { url: meaning(LinkUrl, 'Where the link leads.') },
  mention: { user: User },
  assignee: { user: User },
  todo: {
    todoID: meaning(Id, 'The ID of the task, chosen by the host.'),
    done: meaning(flag({ description: 'true or false' }), 'Whether it is done.'),
  },
  markdown: {},
} as const;

type NodeType = keyof typeof ATTRIBUTES;
const NODE_TYPES = Object.keys(ATTRIBUTES) as NodeType[];

/** Nodes within a line of text. All other nodes with children begin a new line. */
const INLINE: ReadonlySet<string> = new Set<NodeType>(['link', 'mention', 'assignee']);

/** A node within another one: the API description refers to the schema of this name. */
const AnyNode = { type: 'object', 'x-named': 'ContentNode' } as Schema<ContentNode>;

const nodeSchemas = NODE_TYPES.map((type) =>
  exactly({
    type: meaning(constant(type), 'The kind of node.'),
    ...ATTRIBUTES[type],
    children:
      type === 'markdown'
        ? meaning(list(ContentText, { minItems: 1, maxItems: 1 }), 'One text, in Markdown.')
        : meaning(list(AnyNode), 'The nodes within it.'),
  }),
);

/** A node of content, for the API description. */
export const ContentNode: Schema<ContentNode> = {
  'x-meaning': 'A node of the content of a message: a text, or a node with children.',
  anyOf: [ContentText, ...nodeSchemas],
};

/** A text, with its format. */
export type TextNode = Static<ReturnType<typeof exactly<typeof TextNode>>>;
type AttributeValues<Type extends NodeType> = Static<ReturnType<typeof exactly<(typeof ATTRIBUTES)[Type]>>>;
/** A node with children. */
export type BranchNode = {
  [Type in NodeType]: Flat<{ type: Type; children: Children<Type> } & AttributeValues<Type>>;
}[NodeType];
type Children<Type extends NodeType> = Type extends 'markdown' ? [TextNode] : ContentNode[];
/** A part of the content of a message: a text, or a node with children. */
export type ContentNode = TextNode | BranchNode;

/** The content of a message. `x-content` makes the validator check each node: see {@link contentErrors}. */
export const Content = {
  type: 'array',
  items: AnyNode,
  minItems: 1,
  maxItems: CONTENT_MAX_NODES,
  'x-content': true,
  'x-meaning': `What the message says: nodes, nested up to ${CONTENT_MAX_LEVELS} levels, of at most ${CONTENT_MAX_BYTES} bytes of JSON.`,
  description: `an array of 1 to ${CONTENT_MAX_NODES} nodes, nested up to ${CONTENT_MAX_LEVELS} levels, of at most ${CONTENT_MAX_BYTES} bytes of JSON`,
} as Schema<ContentNode[]>;

/** The content of a message as it is read: that of a deleted one is empty. */
export const ShownContent = { ...Content, minItems: 0 } as typeof Content;

type Path = (string | number)[];
/** Takes what is wrong: where, within the content, and what is expected there. */
type Report = (path: Path, expected: string) => void;

type Attributes = ReadonlyMap<string, Attribute>;

interface Attribute {
  readonly fits: (value: unknown) => boolean;
  readonly expected: string;
  readonly isRequired: boolean;
  /** Those of a value that is an object, such as a user. */
  readonly inner: Attributes;
}

const attributesOf = (properties: Readonly<Record<string, Schema>> = {}): Attributes => {
  const { required = [] } = exactly(properties);
  return new Map(
    Object.entries(properties).map(([name, schema]) => [
      name,
      {
        fits: valueCheck(schema),
        expected: String(schema.description),
        isRequired: required.includes(name),
        inner: attributesOf(schema.properties as Readonly<Record<string, Schema>> | undefined),
      },
    ]),
  );
};

const TEXT_ATTRIBUTES = attributesOf(TextNode);
const BRANCH_ATTRIBUTES: ReadonlyMap<unknown, Attributes> = new Map(
  NODE_TYPES.map((type) => [type, attributesOf(ATTRIBUTES[type])]),
);

const NODE_EXPECTED = 'an object: a text, or a node with type and children';
const TYPE_EXPECTED = `one of ${NODE_TYPES.join(', ')}, or a text without type`;

/** Reports each part of the content that is not as it must be, in order. */
export function contentErrors(content: readonly unknown[], report: Report): void {
  nodeListErrors(content, [], 1, report);
}

/** Whether the content, whose nodes are valid, is small enough. */
export const contentFits = (content: readonly unknown[]): boolean =>
  Buffer.byteLength(JSON.stringify(content)) <= CONTENT_MAX_BYTES;

function nodeListErrors(nodes: readonly unknown[], path: Path, level: number, report: Report): void {
  for (const [index, node] of nodes.entries()) {
    const at = [...path, index];
    if (!isJsonObject(node)) report(at, NODE_EXPECTED);
    else if (level > CONTENT_MAX_LEVELS) report(at, `at most ${CONTENT_MAX_LEVELS} levels of nodes`);
    else if (Object.hasOwn(node, 'type')) branchErrors(node, at, level, report);
    else attributeErrors(node, TEXT_ATTRIBUTES, at, report);
  }
}

function branchErrors(node: Record<string, unknown>, path: Path, level: number, report: Report): void {
  const { type, children, ...attributes } = node;
  const known = BRANCH_ATTRIBUTES.get(type);
  if (known === undefined) {
    report([...path, 'type'], TYPE_EXPECTED);
    return;
  }
  attributeErrors(attributes, known, path, report);
  const at = [...path, 'children'];
  if (!Array.isArray(children)) report(at, 'an array of nodes');
  else if (type === 'markdown' && !isOneText(children)) report(at, 'exactly one text');
  else nodeListErrors(children, at, level + 1, report);
}

const isOneText = ([first, ...rest]: readonly unknown[]) =>
  rest.length === 0 && isJsonObject(first) && !Object.hasOwn(first, 'type');

function attributeErrors(
  values: Record<string, unknown>,
  known: Attributes,
  path: Path,
  report: Report,
): void {
  for (const [name, value] of Object.entries(values)) {
    const attribute = known.get(name);
    if (attribute === undefined) report([...path, name], 'no such attribute');
    else if (!attribute.fits(value)) report([...path, name], attribute.expected);
    else if (isJsonObject(value)) attributeErrors(value, attribute.inner, [...path, name], report);
  }
  for (const [name, { isRequired, expected }] of known) {
    if (isRequired && !Object.hasOwn(values, name)) report([...path, name], expected);
  }
}

/** The texts of the content in order, with a line feed between block nodes. */
export function plaintextOf(nodes: readonly ContentNode[]): string {
  const lines: string[] = [];
  let inline = false;
  for (const node of nodes) {
    const isInline = !('type' in node) || INLINE.has(node.type);
    const part = 'type' in node ? plaintextOf(node.children) : node.text;
    if (isInline && inline) lines[lines.length - 1] += part;
    else lines.push(part);
    inline = isInline;
  }
  return lines.join('\n');
}

/** The IDs of the users whom the content mentions or assigns, each once. */
export function usersNamedIn(nodes: readonly ContentNode[], found = new Set<string>()): Set<string> {
  for (const node of nodes) {
    if (!('type' in node)) continue;
    if ('user' in node) found.add(node.user.id);
    usersNamedIn(node.children, found);
  }
  return found;
}

/** The text node of content that is one markdown node, to which texts can be appended; null for other content. */
export function markdownOf(content: readonly ContentNode[]): TextNode | null {
  const [node, ...rest] = content;
  return rest.length === 0 && node !== undefined && 'type' in node && node.type === 'markdown'
    ? node.children[0]
    : null;
}
