// Searches the page: its operations, error codes, fields, schemas and the chapters before them. Nothing is requested.
const SHOWN_MAX = 40;
const field = document.getElementById('search');
const results = document.getElementById('results');
const count = document.getElementById('result-count');
const list = document.getElementById('contents-list');
const contents = document.getElementById('contents');

const textOf = (element) => element?.textContent.replace(/\s+/g, ' ').trim() ?? '';

/** An entry: where it leads, what it is called, and what else is said of it. `names` are in lower case, `more` too. */
function entry(kind, target, label, context, names, more) {
  const lower = (text) => text.toLowerCase();
  return { kind, id: target.id, label, context, names: names.map(lower), more: lower(more) };
}

/** An operation is called by its title, ID and path, and by the last name in its path. */
function operation(target, title, prose) {
  const path = textOf(target.querySelector('.path'));
  const method = textOf(target.querySelector('.method'));
  const resource = path.split('/').findLast((segment) => !segment.startsWith('{')) ?? path;
  const label = textOf(target.querySelector(title));
  return entry(method, target, label, path, [label, path, target.id, `${method} ${path}`, resource], prose);
}

function operations() {
  const sections = [...document.querySelectorAll('.operation')].map((section) =>
    operation(
      section,
      'h3',
      [...section.querySelectorAll('.prose > p, .prose > ul, details')].map(textOf).join(' '),
    ),
  );
  const olderNames = [...document.querySelectorAll('.overview li[id]')].map((line) =>
    operation(line, '.summary', ''),
  );
  return [...sections, ...olderNames];
}

function fields() {
  return [...document.querySelectorAll('.fields > div[data-of]')].map((row) => {
    const name = textOf(row.querySelector('dt code'));
    const owner = row.closest('section');
    const context = `${row.dataset.of} · ${textOf(owner.querySelector('h3 a'))}`;
    // The last part of a dotted name is a name as well.
    return entry(
      'field',
      row,
      name,
      context,
      [name, name.split('.').at(-1)],
      textOf(row.querySelector('dd')),
    );
  });
}

function codes() {
  return [...document.querySelectorAll('#error-codes .fields > div')].map((row) => {
    const [name, meaning] = [textOf(row.querySelector('dt code')), textOf(row.querySelector('dd'))];
    return entry('error', row, name, meaning, [name], meaning);
  });
}

function schemas() {
  return [...document.querySelectorAll('#schemas > section')].map((section) => {
    const name = textOf(section.querySelector('h3 a'));
    const meaning = textOf(section.querySelector('p'));
    return entry('schema', section, name, meaning, [name], meaning);
  });
}

function chapters() {
  return [...document.querySelectorAll('#introduction h2')].map((heading) => {
    let text = '';
    for (
      let next = heading.nextElementSibling;
      next !== null && next.tagName !== 'H2';
      next = next.nextElementSibling
    )
      text += ` ${textOf(next)}`;
    const label = textOf(heading);
    return entry('guide', heading, label, '', [label], text);
  });
}

/** What is preferred where entries match alike: the smaller one comes first. */
const RANKS = { guide: -1.2, error: -0.5, field: 0, schema: 0.5 };
const OPERATION_RANK = -1.5;

/** How well a word of the query fits, from 0 for the whole name to 4 for a mention; infinite where it does not. */
function fit({ names, more }, word) {
  let best = more.includes(word) ? 4 : Number.POSITIVE_INFINITY;
  for (const name of names) {
    if (name === word) return 0;
    const at = name.indexOf(word);
    if (at === 0) best = Math.min(best, 1);
    else if (at > 0) best = Math.min(best, /[\s_./{-]/.test(name[at - 1]) ? 2 : 3);
  }
  return best;
}

function find(entries, query) {
  const words = query.toLowerCase().split(/\s+/);
  const phrase = words.join(' ');
  return entries
    .map((each) => {
      const ofWords = words.reduce((sum, word) => sum + fit(each, word), 0);
      return { each, score: Math.min(fit(each, phrase), ofWords) + (RANKS[each.kind] ?? OPERATION_RANK) };
    })
    .filter(({ score }) => score < Number.POSITIVE_INFINITY)
    .sort((one, other) => one.score - other.score)
    .map(({ each }) => each);
}

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function row({ kind, id, label, context }) {
  const line = document.createElement('li');
  const link = element('a', 'entry', '');
  link.href = `#${id}`;
  const badge = element('span', `method ${kind.toLowerCase()}`, kind);
  link.append(badge, element('span', 'label', label), element('small', 'context', context));
  line.append(link);
  return line;
}

let index = null;

function search() {
  const query = field.value.trim();
  results.hidden = query === '';
  list.hidden = query !== '';
  if (query === '') {
    count.textContent = '';
    results.replaceChildren();
    return;
  }
  index ??= [...operations(), ...chapters(), ...codes(), ...fields(), ...schemas()];
  const found = find(index, query);
  results.replaceChildren(...found.slice(0, SHOWN_MAX).map(row));
  results.scrollTop = 0;
  const hidden = found.length - SHOWN_MAX;
  const shown = hidden > 0 ? `, ${SHOWN_MAX} shown` : '';
  count.textContent = `${found.length === 0 ? 'Nothing' : found.length} found${shown}`;
}

function open() {
  // On a phone the panel is closed at first.
  if (!contents.checkVisibility()) contents.showPopover();
  field.focus();
  field.select();
}

function clear() {
  field.value = '';
  search();
}

/** Moves from the field along the results, and back. */
function move(event) {
  // Enter and the arrows belong to the input method while it composes a character.
  if (event.isComposing) return;
  const links = [...results.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step !== undefined && links.length > 0) {
    event.preventDefault();
    const next = at + step;
    if (next < 0) field.focus();
    else links[Math.min(next, links.length - 1)].focus();
  } else if (event.key === 'Enter' && at === -1) {
    event.preventDefault();
    links[0]?.click();
  } else if (event.key === 'Escape' && field.value !== '') {
    event.preventDefault();
    field.focus();
    clear();
  } else if (at !== -1 && event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) {
    // What is typed on a result goes on with the query.
    field.focus();
  }
}

document.getElementById('finder').hidden = false;
document.getElementById('open-search').hidden = false;
document.getElementById('open-search').addEventListener('click', open);
document.getElementById('finder').addEventListener('keydown', move);
results.addEventListener('keydown', move);
field.addEventListener('input', search);
addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input, textarea, select, [contenteditable]');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  open();
});
