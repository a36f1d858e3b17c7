/** The pages of the documentation, as Markdown: files of the repository, and what the built program tells about itself. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { run } from '../run.mjs';
import { manualPages } from './manual.mjs';

/** What the first digit of a rule's number stands for. */
const SUBJECTS = {
  1: 'The language',
  2: 'Servers, locations, rewrites',
  3: 'Security',
  4: 'Forwarding and caching',
  5: 'TLS',
  6: 'REST over PostgreSQL',
  7: 'Key-value commands',
  8: 'Events, flags, APIs',
  9: 'Running it',
};
const PROJECT = ['CHANGELOG.md', 'SECURITY.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'];
/** Files that pages link to, shown as they are after those of `conf/deploy`. */
const SHOWN_FILES = ['conf/gw.conf', 'conf/demo.conf', 'conf/demo.sql'];
/** Languages of the files that are shown, by extension. */
const LANGUAGES = { '.conf': 'nginx', '.sql': 'sql', '.service': 'ini' };

/** The sections of the site in the order of reading: their names, and the pages that they begin with. */
export const SECTIONS = {
  guide: { name: 'Guide', first: 'guide/index' },
  reference: { name: 'Reference', first: 'reference/index' },
  commands: { name: 'Command line', first: 'commands/index' },
  rules: { name: 'Rules of gw check', first: 'rules/index' },
  examples: { name: 'Examples', first: 'examples/index' },
  files: { name: 'Files', first: 'files/index' },
  project: { name: 'Project', first: 'changelog' },
};

/**
 * Returns the pages in the order of reading: `{ path, title, nav, section, text, file?, topic? }`. `path` has no
 * extension; `file` is the file of the repository that the text is from, whose links are relative to it.
 */
export async function collectPages(source) {
  const read = (file) => readFileSync(join(source, file), 'utf8');
  const { rules, examples, commands } = await askProgram(source);
  return [
    page({ path: 'index', file: 'README.md', nav: 'Introduction', text: read('README.md') }),
    ...guidePages(read, readdirSync(join(source, 'conf/guide'))),
    ...referencePages(read('conf/reference.md')),
    ...manualPages(commands).map(({ name, text }) => page({ path: `commands/${name}`, text })),
    ...rulePages(rules),
    ...examplePages(examples, read),
    ...filePages(source, read),
    ...PROJECT.map((file) => page({ path: basename(file, '.md').toLowerCase(), file, text: read(file) })),
  ];
}

function page({ path, text, ...rest }) {
  const title = /^# (.*)$/m.exec(text)[1];
  const atTop = path === 'index' ? 'guide' : 'project';
  const section = path.includes('/') ? dirname(path) : atTop;
  return { nav: title.replace(/[`*]/g, ''), ...rest, path, section, title, text };
}

/** What the built program says: rules, examples and its commands. */
async function askProgram(source) {
  const program = join(source, 'dist/bin/gw.js');
  const ask = async (...args) => JSON.parse(await run(process.execPath, [program, ...args, '--json']));
  const [rules, examples, commands] = await Promise.all([
    ask('why', '--list'),
    ask('example'),
    ask('manpage'),
  ]);
  return { rules, examples, commands };
}

/** The guide in the order of its contents. Throws if a file is not listed there. */
function guidePages(read, names) {
  const index = page({
    path: 'guide/index',
    file: 'conf/guide/README.md',
    nav: 'Guide',
    text: read('conf/guide/README.md'),
  });
  let topic;
  const pages = [];
  for (const [, heading, nav, name] of index.text.matchAll(/^## (.*)$|^- \[([^\]]*)\]\(([\w-]+\.md)\)/gm)) {
    topic = heading ?? topic;
    const file = `conf/guide/${name}`;
    if (name)
      pages.push(page({ path: `guide/${basename(name, '.md')}`, file, topic, nav, text: read(file) }));
  }
  const listed = new Set([index, ...pages].map(({ file }) => basename(file)));
  const unlisted = names.filter((name) => !listed.has(name));
  if (unlisted.length > 0) throw new Error(`${index.file} does not list ${unlisted.join(', ')}`);
  return [index, ...pages];
}

/** The reference, split by module. What its last three sections list comes first: it is of all modules. */
function referencePages(reference) {
  const [head, ...sections] = reference.replace(/<a id="[^"]*"><\/a>\n\n/g, '').split(/^## /m);
  const file = 'conf/reference.md';
  const pages = sections.map((section) => {
    const heading = section.slice(0, section.indexOf('\n'));
    // The facts about a directive are a list, whose first words become labels.
    const text = `# ${section.replace(/^### /gm, '## ').replace(/^- ([A-Z][\w ]+): /gm, '- **$1** ')}`;
    return page({ path: referencePath(heading), file, text });
  });
  const [variables, withoutEffect, byName] = pages.splice(-3);
  const intro = head.replace(/^Generated .*\n/m, '').replace(' at the end', '');
  return [
    page({ path: 'reference/index', file, nav: 'All modules', text: intro }),
    { ...byName, title: 'Directives by name', nav: 'Directives by name' },
    variables,
    withoutEffect,
    ...pages,
  ];
}

/** The page of a section of the reference. */
export function referencePath(heading) {
  return `reference/${heading.toLowerCase().replaceAll(' ', '-')}`;
}

/** The rules of `gw check`: a page for each subject. */
function rulePages(rules) {
  const subjects = Object.entries(SUBJECTS).map(([digit, subject]) => {
    const own = rules.filter(({ id }) => id[2] === digit);
    const texts = own.map(ruleText).join('\n');
    const intro = `\`gw check --select GW${digit}\` applies only these rules. Where something is right as it is, a comment on its line or the one before says so: \`# gw-ignore GW${digit}01: the reason\`.`;
    const text = `# GW${digit}: ${subject}\n\n${intro}\n\n${texts}`;
    return { own, ...page({ path: `rules/gw${digit}`, nav: `GW${digit} ${subject}`, text }) };
  });
  const list = subjects.map(({ title, path, own }) => {
    const rows = own.map(
      (rule) => `| [${rule.id}](${basename(path)}.md#${rule.id.toLowerCase()}) | ${ruleRow(rule)} |\n`,
    );
    return `## ${title}\n\n| Rule | Name | Severity | Finds |\n| --- | --- | --- | --- |\n${rows.join('')}`;
  });
  const text = `# Rules of gw check\n\n${rules.length} rules. \`gw why GW301\` prints one; [the guide](../guide/tools.md#gw-check) tells how to run them.\n\n${list.join('\n')}`;
  return [page({ path: 'rules/index', nav: 'All rules', text }), ...subjects];
}

function ruleRow({ slug, severity, on, summary }) {
  return `${slug} | ${severity}${on ? '' : ', off'} | ${summary.replaceAll('|', '\\|')}`;
}

function ruleText({ id, slug, severity, on, summary, why, fix, bad, good }) {
  return [
    `## ${id} ${slug}\n`,
    `${plain(summary[0].toUpperCase() + summary.slice(1))} (${severity}${on ? '' : ', off by default'}).\n`,
    `${plain(why)}\n`,
    ...exampleText('Bad', bad),
    ...exampleText('Good', good),
    `**To mend it:** ${plain(fix)}\n`,
  ].join('\n');
}

function exampleText(label, { in: where = 'server', text, files = {} }) {
  const beside = Object.entries(files).filter(([, file]) => typeof file === 'string');
  return [
    `**${label}**${where === 'main' ? '' : `, in \`${where}\``}:\n`,
    fenced('nginx', text),
    ...beside.flatMap(([name, code]) => [`**with** \`${name}\`:\n`, fenced('nginx', code)]),
  ];
}

function fenced(language, code) {
  return `\`\`\`${language}\n${code.trimEnd()}\n\`\`\`\n`;
}

/** Text without markup, in which quoted words are code. */
function plain(text) {
  return text
    .replace(/"([^"`]+)"/g, '`$1`')
    .replace(/`[^`]*`|[<*_[\]\\]/g, (found) => (found[1] ? found : `\\${found}`));
}

function examplePages(examples, read) {
  const items = examples.map(({ name, summary }) => `- [${name}](${name}.md): ${plain(summary)}\n`);
  const text = `# Examples\n\nConfigurations to start from; each of them is tested. \`gw example NAME > gateway.conf\` writes one.\n\n${items.join('')}`;
  const pages = examples.map(({ name, summary }) => {
    const file = `conf/examples/${name}.conf`;
    const intro = `${plain(summary)}.\n\n\`gw example ${name} > gateway.conf\` writes this file.`;
    const text = `# ${name}.conf\n\n${intro}\n\n${fenced('nginx', read(file))}`;
    return page({ path: `examples/${name}`, file, nav: name, text });
  });
  return [page({ path: 'examples/index', nav: 'All examples', text }), ...pages];
}

/** Files of the installation as they are. */
function filePages(source, read) {
  const entries = readdirSync(join(source, 'conf/deploy'), { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();
  const files = [...names.map((name) => `conf/deploy/${name}`), ...SHOWN_FILES];
  const items = files.map((file) => `- [${file}](${basename(file)}.md)\n`);
  const text = `# Files\n\nFiles of the installation that other pages refer to.\n\n${items.join('')}`;
  const pages = files.map((file) => {
    const name = basename(file);
    const code = fenced(LANGUAGES[extname(file)] ?? 'sh', read(file));
    return page({
      path: `files/${name}`,
      file,
      nav: name,
      text: `# ${name}\n\n\`${file}\` of the installation.\n\n${code}`,
    });
  });
  return [page({ path: 'files/index', nav: 'All files', text }), ...pages];
}
