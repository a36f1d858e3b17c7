/** Markdown to HTML: headings with anchors, colours, tables that scroll, and what the search finds. */
import markdownIt from 'markdown-it';

/**
 * What has a colour in a configuration, under the name of its class: comments, strings, variables, directives (the first words
 * of statements) and constants.
 */
const CONFIG =
  /(?<=^|\s)(?<c>#.*)|(?<=^|[\s;{}])(?<s>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?<v>\$(?:\{[^}]*\}|\w+))|(?<=(?:^|[;{}])\s*)(?<d>[a-z]\w*)|(?<=\s)(?<n>\d+[a-z]{0,2}|on|off)(?=[\s;])/gm;

/**
 * Returns a function that renders a page as `{ html, headings, passages, intro }`: passages for the search, and the first
 * paragraph without markup.
 */
export function renderer() {
  const md = markdownIt({ html: true, highlight: coloured });
  const { rules } = md.renderer;
  rules.table_open = () => '<div class="scroll"><table>\n';
  rules.table_close = () => '</table></div>\n';
  rules.heading_open = (tokens, index) => {
    const { tag } = tokens[index];
    const id = tokens[index].attrGet('id');
    return `<${tag} id="${id}">${tag === 'h1' ? '' : `<a href="#${id}">`}`;
  };
  rules.heading_close = (tokens, index) => {
    const { tag } = tokens[index];
    return `${tag === 'h1' ? '' : '</a>'}</${tag}>\n`;
  };
  return (page) => {
    const tokens = md.parse(page.text, {});
    const headings = nameHeadings(tokens, page);
    const first = tokens.findIndex(({ type, hidden }) => type === 'paragraph_open' && !hidden);
    if (page.section === 'reference') nameRows(tokens);
    alignByClass(tokens);
    return {
      html: md.renderer
        .render(tokens, md.options, {})
        .replace(/( href="(?!\w+:)[^"#]*)\.md(?=["#])/g, '$1.html'),
      headings,
      passages: passagesIn(tokens, page),
      intro: plainText(tokens[first + 1]),
    };
  };
}

/** Configurations in colours; elsewhere comments and prompts. */
function coloured(code, language) {
  if (language === 'nginx') return colouredConfig(code);
  const text = escapeHtml(code);
  if (language === 'json' || language === 'js' || language === 'ts') return text;
  const comments = language === 'sql' ? /(^|\s)(--\s.*)$/gm : /(^|\s)(# .*)$/gm;
  return text.replace(comments, '$1<i class=c>$2</i>').replace(/^\$ /gm, '<i class=p>$&</i>');
}

function colouredConfig(code) {
  let html = '';
  let end = 0;
  for (const { 0: found, index, groups } of code.matchAll(CONFIG)) {
    const [colour] = Object.entries(groups).find(([, text]) => text !== undefined);
    html += `${escapeHtml(code.slice(end, index))}<i class=${colour}>${escapeHtml(found)}</i>`;
    end = index + found.length;
  }
  return html + escapeHtml(code.slice(end));
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
    if (token.tag !== 'h1') headings.push({ id, text, level: Number(token.tag[1]) });
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
  return (inline.children ?? [])
    .map(({ type, content }) => (type.endsWith('break') ? ' ' : content))
    .join('');
}

/**
 * The passages that the search finds: what is below each heading, and rows with names. What begins with bold words in the
 * reference and the rules is the same everywhere.
 */
function passagesIn(tokens, { section }) {
  const isGenerated = section === 'reference' || section === 'rules';
  const passages = [];
  for (const [index, token] of tokens.entries()) {
    const id = token.attrGet('id');
    const passage = passages.at(-1);
    if (id !== null) {
      const heading = plainText(tokens[index + (token.tag === 'tr' ? 2 : 1)]);
      passages.push({ id: token.tag === 'h1' ? '' : id, heading, text: '', code: '' });
    } else if (token.type === 'fence' && section !== 'rules') passage.code += ` ${token.content}`;
    else if (token.type !== 'inline' || (isGenerated && token.content.startsWith('**'))) continue;
    else if (passage.heading !== plainText(token)) passage.text += ` ${plainText(token)}`;
  }
  return passages;
}

/** Returns the words of a text, shortened at the end of one. */
export function excerpt(text, mostChars) {
  const words = text.replace(/\s+/g, ' ').trim();
  return words.length > mostChars ? `${words.slice(0, words.lastIndexOf(' ', mostChars))} …` : words;
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
