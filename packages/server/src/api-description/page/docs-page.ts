import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ERRORS } from '@rollcall/protocol';
import type { DocsPage } from '../../http/http-services.ts';
import type { Tag } from '../../http/operation.ts';
import type { OpenApiDocument } from '../build-document.ts';
import type { Schema } from '../openapi-document.ts';
import { fieldList, fieldsOf, typeText } from './fields.ts';
import { Html, html } from './html.ts';
import { headingsOf, inlineMarkdown, markdown, slug } from './markdown.ts';
import { type DescribedOperation, endpoint, operationSection } from './operation-section.ts';

/** A tag with its operations, in the order of the routes. */
interface Chapter {
  readonly tag: Tag;
  readonly operations: readonly DescribedOperation[];
}

const read = (url: string | URL) => readFileSync(new URL(url, import.meta.url), 'utf8');

/** The page that shows an API description: one document of plain HTML, with its style and a few lines of script in it. */
export function buildDocsPage(document: OpenApiDocument): DocsPage {
  const style = read(import.meta.resolve('simpledotcss/simple.min.css')) + read('docs-page.css');
  const script = read('docs-page.client.js');
  const chapters = chaptersOf(document);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${document.info.title} API ${document.info.version}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
${navigation(document, chapters)}
<main id="main">
${introduction(document)}
${chapters.map((chapter) => chapterSection(document, chapter))}
${errorCodes()}
${schemaSections(document)}
</main>
<script>${new Html(script)}</script>
</body>
</html>
`;
  return { bytes: Buffer.from(page.text), securityPolicy: policy(style, script) };
}

const hashed = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const policy = (style: string, script: string) =>
  [
    "default-src 'none'",
    `style-src ${hashed(style)}`,
    `script-src ${hashed(script)}`,
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

const titled = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

function navigation({ info }: OpenApiDocument, chapters: readonly Chapter[]): Html {
  return html`<nav aria-label="Contents">
<p class="name"><a href="#main">${info.title}</a> <small>${info.version}</small></p>
<ul>
${headingsOf(info.description).map((heading) => html`<li><a href="#${slug(heading)}">${heading}</a></li>`)}
</ul>
<ul>
${chapters.map(
  ({ tag, operations }) => html`<li><a href="#${tag.name}">${titled(tag.name)}</a>
<ul>${operations.map(
    ({ method, operation: { operationId, summary } }) =>
      html`<li><a href="#${operationId}"><span class="method ${method}">${method.toUpperCase()}</span>${summary}</a></li>`,
  )}</ul></li>`,
)}
</ul>
<ul>
<li><a href="#error-codes">Error codes</a></li>
<li><a href="#schemas">Schemas</a></li>
</ul>
</nav>`;
}

function introduction({ info }: OpenApiDocument): Html {
  return html`<header class="prose">
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
${fields.length > 0 && fieldList(document, fields)}
</section>`;
}
