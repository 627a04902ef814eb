import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ERRORS } from '@rollcall/protocol';
import type { DocsPage } from '../../http/http-services.ts';
import type { OpenApiDocument } from '../build-document.ts';
import type { Schema } from '../openapi-document.ts';
import { type Chapter, contentsPanel, titled, topBar } from './contents-panel.ts';
import { choicesOf, fieldList, fieldsOf, typeText } from './fields.ts';
import { Html, html } from './html.ts';
import { inlineMarkdown, markdown } from './markdown.ts';
import { type DescribedOperation, endpoint, operationSection } from './operation-section.ts';
import { SERVER_ADDRESS } from './server-address.ts';

const read = (url: string | URL) => readFileSync(new URL(url, import.meta.url), 'utf8');

const STYLES = [import.meta.resolve('simpledotcss/simple.min.css'), 'docs-page.css', 'contents-panel.css'];
const SCRIPTS = ['server-address', 'copy-code', 'contents', 'search'].map((name) =>
  read(`browser/${name}.client.js`),
);

/**
 * The page that shows an API description: one document of plain HTML, with its style and scripts in it. It is complete
 * without scripts, but for the search.
 */
export function buildDocsPage(document: OpenApiDocument): DocsPage {
  const style = STYLES.map(read).join('');
  const { title, version } = document.info;
  const chapters = chaptersOf(document);
  const page = html`<!doctype html>
<html lang="en" data-server="${SERVER_ADDRESS}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} API ${version}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
${topBar(document)}
${contentsPanel(document, chapters)}
<main id="main">
${introduction(document)}
${chapters.map((chapter) => chapterSection(document, chapter))}
${errorCodes()}
${schemaSections(document)}
</main>
${SCRIPTS.map((script) => html`<script type="module">${new Html(script)}</script>`)}
</body>
</html>
`;
  const pieces = page.text.split(SERVER_ADDRESS);
  let last = { address: '', text: Buffer.alloc(0) };
  return {
    textFor(address) {
      // Answers that wait for the network share it.
      if (last.address !== address) last = { address, text: Buffer.from(pieces.join(address)) };
      return last.text;
    },
    securityPolicy: policy(style),
  };
}

const hashed = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const policy = (style: string) =>
  [
    "default-src 'none'",
    `style-src ${hashed(style)}`,
    `script-src ${SCRIPTS.map(hashed).join(' ')}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

function chaptersOf({ tags, paths }: OpenApiDocument): Chapter[] {
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
  );
  return tags.map((tag) => ({
    tag,
    operations: described.filter(({ operation }) => operation.tags.includes(tag.name)),
  }));
}

function introduction({ info }: OpenApiDocument): Html {
  return html`<header class="prose" id="introduction">
<h1>${info.title} API <small>${info.version}</small></h1>
<p>${info.summary}</p>
${markdown(info.description)}
<p>For programs: <a href="openapi.json">openapi.json</a>, OpenAPI 3.1. ${info.license.name} licensed.</p>
</header>`;
}

function chapterSection(document: OpenApiDocument, { tag, operations }: Chapter): Html {
  const isOld = operations.every(({ operation }) => operation.deprecated === true);
  const shown = isOld ? [] : operations.map((described) => operationSection(document, described));
  return html`<section id="${tag.name}" aria-labelledby="${tag.name}-title">
<h2 id="${tag.name}-title">${titled(tag.name)}</h2>
<p>${inlineMarkdown(tag.description)}</p>
<ul class="overview">${operations.map((described) => overviewRow(described, isOld))}</ul>
${shown}
</section>`;
}

/** One line of a chapter's overview. What is there for older hosts only has nothing but this line. */
function overviewRow(described: DescribedOperation, isOld: boolean): Html {
  const { operationId, summary } = described.operation;
  if (isOld)
    return html`<li id="${operationId}">${endpoint(described)} <span class="summary">${summary}</span></li>`;
  return html`<li><a href="#${operationId}">${endpoint(described)} <span class="summary">${summary}</span></a></li>`;
}

function errorCodes(): Html {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, meaning, retryable }]) =>
      html`<div id="error-${code}"><dt><code>${code}</code> <span class="status">${status}</span></dt>
<dd>${meaning}${retryable && ' Trying again can help.'}</dd></div>`,
  );
  return html`<section class="prose" id="error-codes">
<h2>Error codes</h2>
<dl class="fields">${rows}</dl>
</section>`;
}

function schemaSections(document: OpenApiDocument): Html {
  const { schemas } = document.components;
  return html`<section class="prose" id="schemas">
<h2>Schemas</h2>
${Object.entries(schemas).map(([name, schema]) => schemaSection(document, name, schema))}
</section>`;
}

function schemaSection(document: OpenApiDocument, name: string, schema: Schema): Html {
  const fields = fieldsOf(schema);
  return html`<section id="schema-${name}">
<h3><a href="#schema-${name}">${name}</a> <span class="type">${typeText(document, schema)}</span></h3>
<p>${inlineMarkdown(schema.description ?? '')}</p>
${fields.length > 0 && fieldList(document, fields, { id: `schema-${name}`, of: 'Schema' })}
${choicesOf(schema).map((choice, index) => choiceOf(document, choice, `schema-${name}-${index + 1}`))}
</section>`;
}

/** One of the schemas that a value can match: its name, or its fields. */
function choiceOf(document: OpenApiDocument, choice: Schema, id: string): Html {
  if (choice.$ref !== undefined) return html`<p>${typeText(document, choice)}</p>`;
  return fieldList(document, fieldsOf(choice), { id, of: 'Schema' });
}
