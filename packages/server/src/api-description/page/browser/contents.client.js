// Marks the section that is being read in the list of contents, and closes the list on a phone when it is no longer needed.
const contents = document.getElementById('contents');
const list = document.getElementById('contents-list');
/** In the order of the page. */
const sections = [...list.querySelectorAll('a')].map((link) => ({
  link,
  target: document.getElementById(link.hash.slice(1)),
}));
let current = null;

/** The last section that begins above where links scroll to. Sections are in order, so halving the list finds it. */
function sectionAtTop() {
  const top = Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) + 8;
  let [from, to] = [0, sections.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sections[middle].target.getBoundingClientRect().top <= top) from = middle + 1;
    else to = middle;
  }
  return sections[from - 1] ?? null;
}

function mark() {
  const section = sectionAtTop();
  if (section === current) return;
  current?.link.removeAttribute('aria-current');
  section?.link.setAttribute('aria-current', 'location');
  current = section;
  show();
}

/** Scrolls the list, and not the page, so far that the marked link can be seen. */
function show() {
  if (current === null || list.hidden) return;
  const link = current.link.getBoundingClientRect();
  const room = list.getBoundingClientRect();
  if (link.top < room.top) list.scrollTop += link.top - room.top - room.height / 3;
  else if (link.bottom > room.bottom) list.scrollTop += link.bottom - room.bottom + room.height / 3;
}

let isWaiting = false;
addEventListener(
  'scroll',
  () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      mark();
    });
  },
  { passive: true },
);
mark();

const close = () => contents.matches(':popover-open') && contents.hidePopover();
contents.addEventListener('click', ({ target }) => target.closest('a') && close());
contents.addEventListener('toggle', show);
// Beside the text the list needs no closing.
matchMedia('(min-width: 64rem)').addEventListener('change', close);
