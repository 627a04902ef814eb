import type { Tag } from '../../http/operation.ts';
import type { OpenApiDocument } from '../build-document.ts';
import { type Html, html } from './html.ts';
import { headingsOf, slug } from './markdown.ts';
import type { DescribedOperation } from './operation-section.ts';

/** A tag with its operations, in the order of the routes. */
export interface Chapter {
  readonly tag: Tag;
  readonly operations: readonly DescribedOperation[];
}

export const titled = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

/** On a phone: the buttons that open the panel. Search needs a script, which shows its button. */
export const topBar = ({ info }: OpenApiDocument): Html => html`<header class="bar">
<p class="name"><a href="#main">${info.title} API</a></p>
<button type="button" id="open-search" hidden>Search</button>
<button type="button" popovertarget="contents">Contents</button>
</header>`;

/** Beside the text, and on a phone above it when opened: the search, and the list of everything on the page. */
export const contentsPanel = (document: OpenApiDocument, chapters: readonly Chapter[]): Html => html`
<nav id="contents" popover aria-label="Contents">
<div class="head">
<p class="name"><a href="#main">${document.info.title}</a> <small>${document.info.version}</small></p>
<button type="button" class="close" popovertarget="contents" popovertargetaction="hide">Close</button>
</div>
<search id="finder" hidden>
<input id="search" type="search" aria-label="Search this page" placeholder="Search" aria-keyshortcuts="/" autocomplete="off" autocapitalize="off" spellcheck="false" enterkeyhint="go"><kbd>/</kbd>
<p id="result-count" role="status"></p>
</search>
<ul id="results" aria-label="Results" hidden></ul>
${contentsList(document, chapters)}
</nav>`;

function contentsList({ info }: OpenApiDocument, chapters: readonly Chapter[]): Html {
  return html`<div id="contents-list">
<ul>
${headingsOf(info.description).map((heading) => html`<li><a class="chapter" href="#${slug(heading)}">${heading}</a></li>`)}
</ul>
<ul>
${chapters.map(
  ({ tag, operations }) => html`<li><a class="chapter" href="#${tag.name}">${titled(tag.name)}</a>
<ul>${operations.map(
    ({ method, operation: { operationId, summary } }) =>
      html`<li><a class="entry" href="#${operationId}"><span class="method ${method}">${method.toUpperCase()}</span><span class="label">${summary}</span></a></li>`,
  )}</ul></li>`,
)}
</ul>
<ul>
<li><a class="chapter" href="#error-codes">Error codes</a></li>
<li><a class="chapter" href="#schemas">Schemas</a></li>
</ul>
</div>`;
}
