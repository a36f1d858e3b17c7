/** What every page does: colours, copying, where one is, and loading the search when it is asked for. */
const root = document.documentElement;
const base = root.dataset.root;
const COLOURS = ['auto', 'light', 'dark'];

function showColours(button, chosen) {
  root.dataset.colours = chosen;
  button.querySelector('span').textContent = chosen;
  button.setAttribute('aria-label', `Colours: ${chosen}`);
  // Pictures for dark pages follow the choice, not the system.
  for (const source of document.querySelectorAll('picture source')) {
    source.dataset.media ??= source.media;
    source.media = { auto: source.dataset.media, light: 'not all', dark: 'all' }[chosen];
  }
}

function colourSwitch() {
  const button = document.querySelector('.colours');
  button.hidden = false;
  showColours(button, root.dataset.colours);
  button.addEventListener('click', () => {
    const chosen = COLOURS[(COLOURS.indexOf(root.dataset.colours) + 1) % COLOURS.length];
    showColours(button, chosen);
    try {
      localStorage.setItem('gw-docs-colours', chosen);
    } catch {
      // Without storage the choice holds for this page.
    }
  });
}

/** Of a block with prompts, only the commands are copied. */
function copied(text) {
  const commands = text.split('\n').filter((line) => line.startsWith('$ '));
  return commands.length > 0 ? commands.map((line) => line.slice(2)).join('\n') : text;
}

function copyButtons() {
  if (!navigator.clipboard) return;
  for (const code of document.querySelectorAll('pre > code')) {
    const button = document.createElement('button');
    button.className = 'copy';
    button.type = 'button';
    button.textContent = 'Copy';
    const say = (text) => {
      button.textContent = text;
      setTimeout(() => (button.textContent = 'Copy'), 1500);
    };
    button.addEventListener('click', () => {
      navigator.clipboard.writeText(copied(code.textContent)).then(
        () => say('Copied'),
        () => say('Not allowed'),
      );
    });
    const box = document.createElement('div');
    box.className = 'code';
    code.parentElement.replaceWith(box);
    box.append(code.parentElement, button);
  }
}

/** What scrolls by itself can be reached by keyboard. */
function reachScrolling() {
  for (const box of document.querySelectorAll('pre, .scroll')) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute('tabindex');
  }
}

/** Marks the heading that is read in the list of headings. */
function followReading() {
  const links = new Map(
    [...document.querySelectorAll('.contents a')].map((link) => [
      decodeURIComponent(link.hash.slice(1)),
      link,
    ]),
  );
  const headings = [...links.keys()].map((id) => document.getElementById(id));
  const mark = () => {
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 120);
    const now = links.get((passed.at(-1) ?? headings[0]).id);
    if (now.ariaCurrent) return;
    for (const link of links.values()) link.ariaCurrent = link === now ? 'true' : null;
    const box = now.closest('.contents');
    box.scrollTop = now.offsetTop - box.clientHeight / 2;
  };
  if (links.size === 0) return;
  addEventListener('scroll', mark, { passive: true });
  mark();
}

let isLoading = false;
/** Loads the search and its index. They are scripts, because pages from a file system may not fetch. */
function loadSearch() {
  if (isLoading) return;
  isLoading = true;
  for (const name of ['search.js', 'search-index.js']) {
    const script = document.createElement('script');
    script.src = `${base}assets/${name}`;
    script.async = false;
    document.head.append(script);
  }
}

function searchField() {
  const field = document.querySelector('#q');
  field.addEventListener('focus', loadSearch);
  addEventListener('keydown', (event) => {
    const isTyping = event.target.matches('input, textarea, select') || event.target.isContentEditable;
    const isKey = event.key === '/' ? !isTyping : event.key === 'k' && (event.ctrlKey || event.metaKey);
    if (!isKey || event.altKey) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
  if (location.pathname.endsWith('/search.html')) field.focus();
}

function showWhereOneIs() {
  const here = document.querySelector('.sidebar [aria-current]');
  if (here) here.closest('.sidebar').scrollTop = here.offsetTop - innerHeight / 3;
}

colourSwitch();
copyButtons();
reachScrolling();
addEventListener('resize', reachScrolling);
followReading();
searchField();
showWhereOneIs();
