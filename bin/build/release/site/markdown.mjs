/** Markdown to HTML: headings with anchors, colours, tables that scroll, and what the search finds. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import markdownIt from 'markdown-it';
import oniguruma from 'vscode-oniguruma';
import textmate from 'vscode-textmate';

const require = createRequire(import.meta.url);
/** Classes of the style sheet, by the begin of the grammar's scopes. */
const COLOURS = {
  comment: 'c',
  'support.function': 'd',
  string: 's',
  variable: 'v',
  constant: 'n',
  entity: 'v',
  'keyword.other': 'v',
};

/** Returns a function that renders a page as `{ html, headings, found }`. */
export async function renderer(source) {
  const grammar = await loadGrammar(join(source, 'grammar/editors/vscode/gateway.tmLanguage.json'));
  const md = markdownIt({ html: true, highlight: (code, language) => coloured(grammar, code, language) });
  md.renderer.rules.table_open = () => '<div class="scroll"><table>\n';
  md.renderer.rules.table_close = () => '</table></div>\n';
  return (page) => {
    const tokens = md.parse(page.text, {});
    const headings = nameHeadings(tokens, page);
    if (page.section === 'reference') nameRows(tokens);
    alignByClass(tokens);
    return {
      html: md.renderer
        .render(tokens, md.options, {})
        .replace(/( href="(?!\w+:)[^"#]*)\.md(?=["#])/g, '$1.html'),
      headings,
      found: passages(tokens, page),
    };
  };
}

async function loadGrammar(path) {
  await oniguruma.loadWASM(
    readFileSync(join(dirname(require.resolve('vscode-oniguruma/package.json')), 'release/onig.wasm')),
  );
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: oniguruma.createOnigScanner,
      createOnigString: oniguruma.createOnigString,
    }),
    loadGrammar: async (scope) =>
      scope === 'source.gateway' ? textmate.parseRawGrammar(readFileSync(path, 'utf8'), path) : null,
  });
  return registry.loadGrammar('source.gateway');
}

/** Configurations in the colours of the editors' grammar; elsewhere comments and prompts. */
function coloured(grammar, code, language) {
  if (language === 'nginx') return colouredConfig(grammar, code);
  const text = escapeHtml(code);
  if (language === 'json' || language === 'js' || language === 'ts') return text;
  const comments = language === 'sql' ? /(^|\s)(--\s.*)$/gm : /(^|\s)(# .*)$/gm;
  return text.replace(comments, '$1<i class=c>$2</i>').replace(/^\$ /gm, '<i class=p>$&</i>');
}

function colouredConfig(grammar, code) {
  let state = textmate.INITIAL;
  const lines = code.split('\n').map((line) => {
    const { ruleStack, tokens } = grammar.tokenizeLine(line, state);
    state = ruleStack;
    return tokens
      .map(({ startIndex, endIndex, scopes }) => span(line.slice(startIndex, endIndex), scopes.at(-1)))
      .join('');
  });
  return lines.join('\n');
}

function span(text, scope) {
  const colour = Object.entries(COLOURS).find(([begin]) => scope.startsWith(begin))?.[1];
  const escaped = escapeHtml(text);
  return colour === undefined || text.trim() === '' ? escaped : `<i class=${colour}>${escaped}</i>`;
}

/** Gives headings the names that GitHub gives them; rules have that of their id. Returns those below the title. */
function nameHeadings(tokens, { section }) {
  const headings = [];
  const names = new Map();
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'heading_open') continue;
    const text = plainText(tokens[index + 1]);
    const name = section === 'rules' && /^GW\d{3} /.test(text) ? text.slice(0, 5).toLowerCase() : slug(text);
    const count = names.get(name) ?? 0;
    names.set(name, count + 1);
    const id = count === 0 ? name : `${name}-${count}`;
    token.attrSet('id', id);
    const level = Number(token.tag[1]);
    if (level > 1) headings.push({ id, text, level });
    if (level > 1) linkHeading(tokens[index + 1], id);
  }
  return headings;
}

/** The name of a heading on GitHub. */
function slug(text) {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

function linkHeading(inline, id) {
  const Token = inline.constructor;
  const open = new Token('link_open', 'a', 1);
  open.attrSet('href', `#${id}`);
  inline.children = [open, ...inline.children, new Token('link_close', 'a', -1)];
}

/** Rows of directives and variables can be linked to by their name. */
function nameRows(tokens) {
  for (const [index, token] of tokens.entries()) {
    const name = token.type === 'tr_open' && /^`\$?([\w*]+)`$/.exec(tokens[index + 2].content)?.[1];
    if (name) token.attrSet('id', name);
  }
}

/** Cells are aligned by the style sheet, for the policy of the pages allows no style in them. */
function alignByClass(tokens) {
  for (const token of tokens) {
    const style = token.attrGet('style');
    if (style !== null) token.attrs = style.endsWith('right') ? [['class', 'end']] : null;
  }
}

function plainText(inline) {
  return (inline.children ?? []).map(({ type, content }) => (type === 'softbreak' ? ' ' : content)).join('');
}

/**
 * The passages that the search finds: the text below each heading, and rows with names. What begins with bold words in the
 * reference and the rules is the same everywhere.
 */
function passages(tokens, { section }) {
  const isGenerated = section === 'reference' || section === 'rules';
  const found = [];
  for (const [index, token] of tokens.entries()) {
    const id = token.attrGet('id');
    const add = (text) => (found.at(-1).text += ` ${text}`);
    if (id !== null)
      found.push({
        id: token.tag === 'h1' ? '' : id,
        heading: plainText(tokens[index + (token.tag === 'tr' ? 2 : 1)]),
        text: '',
        code: '',
      });
    else if (token.type === 'fence') found.at(-1).code += section === 'rules' ? '' : ` ${token.content}`;
    else if (token.type !== 'inline' || (isGenerated && token.content.startsWith('**'))) continue;
    else if (found.at(-1)?.heading !== plainText(token)) add(plainText(token));
  }
  return found.map(({ text, code, ...rest }) => ({
    ...rest,
    text: `${text}${code}`.replace(/\s+/g, ' ').trim(),
  }));
}

/** Rewrites the targets of links and images in a text, but not in its code. */
export function mapLinks(text, change) {
  const pieces = text.split(/(^ *```[^]*?^ *```$)/m);
  return pieces
    .map((piece, index) =>
      index % 2 === 1
        ? piece
        : piece.replace(/(?<=\]\()[^)\s]+(?=\))/g, change).replace(/(?<=(?:src|srcset)=")[^"]+/g, change),
    )
    .join('');
}

export function escapeHtml(text) {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
