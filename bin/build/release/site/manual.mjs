/** Pages of the manual as Markdown: the macros that `gw manpage` writes, and no others. */

/** Returns the pages of section 1, `[name, roff]`, as `{ name, text }`: gw(1), and each command with those inside it. */
export function manualPages(manual) {
  const titles = new Map(manual.map(([name, roff]) => [name, commandOf(roff)]));
  const [, main] = manual.find(([name]) => name === 'gw');
  const commands = [...main.matchAll(/\\fB(gw\S+)\(1\)/g)].map(([, name]) => text(name));
  const pageOf = (name) => commands.find((command) => name === command || name.startsWith(`${command}-`));
  const linkTo = (name) => {
    const file = `${pageOf(name).slice('gw-'.length)}.md`;
    return `[${titles.get(name)}](${commands.includes(name) ? file : `#${name}`})`;
  };
  const linked = (markdown) =>
    markdown.replace(/`(gw-[\w-]+)\(1\)`/g, (found, name) => (titles.has(name) ? linkTo(name) : found));
  return ['gw', ...commands].map((page) => {
    const own = manual.filter(
      ([name]) => name === page || (page !== 'gw' && pageOf(name) === page && name !== 'gw'),
    );
    const texts = own.map(([name, roff]) => commandText(titles.get(name), roff, name === page));
    return { name: page, text: linked(texts.join('\n')) };
  });
}

/** A command: the title of a page, or a part of one, which needs no headings. */
function commandText(title, roff, isPage) {
  const [, named, ...sections] = roff.split(/^\.SH /m);
  const summary = text(named.trimEnd().replace(/^[^]*? \\- /, ''));
  const parts = sections.filter((section) => !section.startsWith('"SEE ALSO"')).map(sectionText);
  const body = isPage ? parts : parts.map((part) => part.replace(/^## .*\n\n/, ''));
  return `${isPage ? '#' : '##'} ${title}\n\n${escaped(summary[0].toUpperCase() + summary.slice(1))}.\n\n${body.join('\n')}`;
}

/** The command as it is typed: the words of the synopsis before its arguments. */
function commandOf(roff) {
  return text(/^\.nf\n(gw[^[<\n]*)/m.exec(roff)[1]).trim();
}

function sectionText(section) {
  const [title, ...lines] = section.trimEnd().split('\n');
  const heading = title.replaceAll('"', '').toLowerCase();
  const body = lines
    .join('\n')
    .split(/^\.TP\n/m)
    .map((part, index) => (index === 0 ? paragraph(part) : term(part)));
  return `## ${heading[0].toUpperCase()}${heading.slice(1)}\n\n${body.join('')}`;
}

function paragraph(part) {
  const literal = /^\.nf\n([^]*?)\n\.fi/.exec(part);
  if (literal) return `\`\`\`sh\n${text(literal[1])}\n\`\`\`\n`;
  return part === '' ? '' : `${escaped(text(part))}\n`;
}

function term(part) {
  const [bold, ...lines] = part.trimEnd().split('\n');
  const said = lines.filter((line) => line !== '.br').map((line) => escaped(text(line)));
  return `- \`${text(bold.replace(/^\\fB|\\fR$/g, ''))}\`\\\n  ${said.join('\\\n  ')}\n`;
}

/** Text without roff's escapes. */
function text(roff) {
  return roff
    .replace(/\\\[u(\w+)\]/g, (_, hex) => String.fromCodePoint(Number.parseInt(hex, 16)))
    .replaceAll('\\&', '')
    .replaceAll('\\-', '-')
    .replaceAll('\\e', '\\');
}

function escaped(plain) {
  return plain.replace(/[<*_[\]\\]/g, '\\$&');
}
