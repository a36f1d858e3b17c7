/** Search as one types: results below the field, or as the list of the page that searches. */
import MiniSearch from 'minisearch';
import { find, SEARCH } from './search-options.js';

const base = document.documentElement.dataset.root;
const field = document.querySelector('#q');
const isPage = location.pathname.endsWith('/search.html');
const MOST = isPage ? 50 : 8;

const list = document.createElement('div');
list.id = 'results';
list.className = 'results';
list.role = 'listbox';
list.ariaLabel = 'Results';
const status = document.createElement('p');
status.className = isPage ? 'count' : 'unseen';
status.role = 'status';
field.form.append(status, list);
field.role = 'combobox';
field.setAttribute('aria-autocomplete', 'list');
field.setAttribute('aria-controls', list.id);
let index;
let chosen = -1;

globalThis.gwSearch = {
  load(made) {
    index = MiniSearch.loadJS(made, SEARCH);
    if (isPage && field.value === '') field.value = new URLSearchParams(location.search).get('q') ?? '';
    show();
  },
};

function show() {
  const text = field.value.trim();
  const found = index && text !== '' ? find(index, text) : [];
  list.replaceChildren(...found.slice(0, MOST).map(option));
  if (found.length > MOST && !isPage) list.append(allResults(text));
  list.hidden = list.children.length === 0;
  field.ariaExpanded = String(!list.hidden);
  status.textContent =
    text === '' ? '' : `${found.length === 0 ? 'No' : found.length} result${found.length === 1 ? '' : 's'}`;
  choose(list.hidden ? -1 : 0);
}

function option({ id, name, page, excerpt, url, terms }) {
  const link = element('a', { href: `${base}${url}`, role: 'option', id: `r${id}`, tabIndex: -1 });
  const head = element('span', { className: 'name' });
  head.append(...marked(name, terms));
  const text = element('span', { className: 'excerpt' });
  text.append(...marked(excerpt, terms));
  link.append(head, element('span', { className: 'where', textContent: page }), text);
  return link;
}

function allResults(text) {
  const href = `${base}search.html?q=${encodeURIComponent(text)}`;
  return element('a', {
    href,
    role: 'option',
    id: 'all',
    tabIndex: -1,
    className: 'all',
    textContent: 'All results',
  });
}

function element(name, properties) {
  return Object.assign(document.createElement(name), properties);
}

/** The text with the words that were found marked. */
function marked(text, terms) {
  const words = terms.map((term) => term.replace(/[^\p{L}\p{N}_]/gu, '\\$&')).join('|');
  return text
    .split(new RegExp(`(${words})`, 'iu'))
    .map((part, at) => (at % 2 === 1 ? element('mark', { textContent: part }) : part));
}

function choose(at) {
  list.children[chosen]?.removeAttribute('aria-selected');
  chosen = at;
  const option = list.children[at];
  if (option) {
    option.ariaSelected = 'true';
    option.scrollIntoView({ block: 'nearest' });
    field.setAttribute('aria-activedescendant', option.id);
  } else field.removeAttribute('aria-activedescendant');
}

function close() {
  if (isPage) return;
  list.hidden = true;
  field.ariaExpanded = 'false';
  choose(-1);
}

const keys = {
  ArrowDown: () => choose(Math.min(chosen + 1, list.children.length - 1)),
  ArrowUp: () => choose(Math.max(chosen - 1, 0)),
  Enter: () => list.children[chosen]?.click(),
  Escape: close,
};

field.addEventListener('input', () => {
  show();
  if (isPage) history.replaceState(undefined, '', `?q=${encodeURIComponent(field.value)}`);
});
field.addEventListener('focus', show);
field.addEventListener('keydown', (event) => {
  const act = keys[event.key];
  if (!act || list.hidden) return;
  if (event.key === 'Enter' && chosen < 0) return;
  event.preventDefault();
  act();
});
field.form.addEventListener('submit', (event) => {
  if (isPage) event.preventDefault();
});
field.form.addEventListener('focusout', ({ relatedTarget }) => {
  if (!field.form.contains(relatedTarget)) close();
});
show();
