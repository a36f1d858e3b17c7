/** The pages of the documentation, as Markdown: files of the repository, and what the built program tells about itself. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
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
/** Directories and files that pages link to, shown as they are. */
const SHOWN = ['conf/deploy', 'conf/gw.conf', 'conf/demo.conf', 'conf/demo.sql'];
/** Languages of the files that are shown, by extension. */
const LANGUAGES = { '.conf': 'nginx', '.sql': 'sql', '.sh': 'sh', '.service': 'ini' };

/**
 * Returns the pages in the order of reading: `{ path, title, nav, section, text, file? }`. `path` has no extension;
 * `file` is the file of the repository that the text is from, whose links are relative to it.
 */
export async function collectPages(source) {
  const read = (file) => readFileSync(join(source, file), 'utf8');
  const asked = await askProgram(source);
  return [
    page({
      path: 'index',
      file: 'README.md',
      section: 'guide',
      nav: 'Introduction',
      text: read('README.md'),
    }),
    ...guidePages(read, readdirSync(join(source, 'conf/guide'))),
    ...referencePages(read('conf/reference.md'), asked.variables),
    ...commandPages(asked.commands),
    ...rulePages(asked.rules),
    ...examplePages(asked.examples, read),
    ...PROJECT.map((file) =>
      page({ path: file.replace('.md', '').toLowerCase(), file, section: 'project', text: read(file) }),
    ),
    ...filePages(source, read),
  ];
}

function page({ text, ...rest }) {
  const title = /^# (.*)$/m.exec(text)[1];
  return { nav: title.replace(/[`*]/g, ''), ...rest, title, text };
}

/** What the built program says: rules, variables, examples and its commands. */
async function askProgram(source) {
  const program = join(source, 'dist/bin/gw.js');
  const ask = async (...args) => JSON.parse(await run(process.execPath, [program, ...args, '--json']));
  const [rules, variables, examples, commands] = await Promise.all([
    ask('why', '--list'),
    ask('list-variables'),
    ask('example'),
    ask('manpage'),
  ]);
  return { rules, variables, examples, commands };
}

/** The guide in the order of its contents. Throws if a file is not listed there. */
function guidePages(read, files) {
  const contents = read('conf/guide/README.md');
  const listed = [...contents.matchAll(/^## (.*)$|^- \[([^\]]*)\]\(([\w-]+\.md)\)/gm)];
  let topic;
  const pages = listed.flatMap(([, heading, nav, name]) => {
    topic = heading ?? topic;
    if (heading !== undefined) return [];
    const file = `conf/guide/${name}`;
    return [
      page({ path: `guide/${name.slice(0, -3)}`, file, section: 'guide', topic, nav, text: read(file) }),
    ];
  });
  const unlisted = files.filter(
    (name) => name !== 'README.md' && !listed.some(([, , , file]) => file === name),
  );
  if (unlisted.length > 0) throw new Error(`conf/guide/README.md does not list ${unlisted.join(', ')}`);
  const index = { path: 'guide/index', file: 'conf/guide/README.md', section: 'guide', nav: 'Guide' };
  return [page({ ...index, text: contents }), ...pages];
}

/** The reference, split by module. */
function referencePages(reference, variables) {
  const [head, ...sections] = reference.replace(/<a id="[^"]*"><\/a>\n\n/g, '').split(/^## /m);
  const pages = sections.map((section) => {
    const heading = section.slice(0, section.indexOf('\n'));
    // The facts about a directive are a list, whose first words become labels.
    const text = `# ${section.replace(/^### /gm, '## ').replace(/^- ([A-Z][\w ]+): /gm, '- **$1** ')}`;
    return page({ path: referencePath(heading), file: 'conf/reference.md', section: 'reference', text });
  });
  const byModule = new Map(variables.map(({ module }) => [module, '']));
  for (const { name, module, summary, settable } of variables)
    byModule.set(
      module,
      `${byModule.get(module)}| \`${name}\` | ${summary}${settable ? ' `set` may change it.' : ''} |\n`,
    );
  const tables = [...byModule].map(
    ([module, rows]) => `## ${module}\n\n| Variable | |\n| --- | --- |\n${rows}`,
  );
  const text = `# Variables\n\nEvery variable, by the module that has it.\n\n${tables.join('\n')}`;
  const index = {
    path: 'reference/index',
    file: 'conf/reference.md',
    section: 'reference',
    nav: 'All modules',
  };
  return [
    page({ ...index, text: head.replace(/^Generated .*\n/m, '').replace(' at the end', '') }),
    ...pages
      .splice(-1)
      .map((byName) => ({ ...byName, title: 'Directives by name', nav: 'Directives by name' })),
    page({ path: 'reference/variables', section: 'reference', text }),
    ...pages.splice(-1),
    ...pages,
  ];
}

/** The page of a section of the reference. */
export function referencePath(heading) {
  return `reference/${heading.toLowerCase().replaceAll(' ', '-')}`;
}

/** gw and its commands. */
function commandPages(gw) {
  return manualPages(gw).map(({ name, text }) =>
    page({ path: `commands/${name}`, section: 'commands', text }),
  );
}

/** The rules of `gw check`: a page for each subject. */
function rulePages(rules) {
  const subjects = Object.entries(SUBJECTS).map(([digit, subject]) => {
    const own = rules.filter(({ id }) => id[2] === digit);
    const texts = own.map(ruleText).join('\n');
    const intro = `\`gw check --select GW${digit}\` applies only these rules. Where something is right as it is, a comment on its line or the one before says so: \`# gw-ignore GW${digit}01: the reason\`.`;
    const text = `# GW${digit}: ${subject}\n\n${intro}\n\n${texts}`;
    return {
      own,
      ...page({ path: `rules/gw${digit}`, section: 'rules', nav: `GW${digit} ${subject}`, text }),
    };
  });
  const list = subjects.map(({ title, path, own }) => {
    const rows = own.map(
      (rule) => `| [${rule.id}](${basename(path)}.md#${rule.id.toLowerCase()}) | ${ruleRow(rule)} |\n`,
    );
    return `## ${title}\n\n| Rule | Name | Severity | Finds |\n| --- | --- | --- | --- |\n${rows.join('')}`;
  });
  const text = `# Rules of gw check\n\n${rules.length} rules. \`gw why GW301\` prints one; [the guide](../guide/tools.md#gw-check) tells how to run them.\n\n${list.join('\n')}`;
  return [page({ path: 'rules/index', section: 'rules', nav: 'All rules', text }), ...subjects];
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
  const fenced = (code) => `\`\`\`nginx\n${code.trimEnd()}\n\`\`\`\n`;
  const beside = Object.entries(files).filter(([, file]) => typeof file === 'string');
  return [
    `**${label}**${where === 'main' ? '' : `, in \`${where}\``}:\n`,
    fenced(text),
    ...beside.flatMap(([name, code]) => [`**with** \`${name}\`:\n`, fenced(code)]),
  ];
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
  return [
    page({ path: 'examples/index', section: 'examples', nav: 'All examples', text }),
    ...examples.map(({ name, summary }) => {
      const file = `conf/examples/${name}.conf`;
      const body = `${plain(summary)}.\n\n\`gw example ${name} > gateway.conf\` writes this file.\n\n\`\`\`nginx\n${read(file)}\`\`\`\n`;
      return page({
        path: `examples/${name}`,
        section: 'examples',
        file,
        nav: name,
        text: `# ${name}.conf\n\n${body}`,
      });
    }),
  ];
}

function filePages(source, read) {
  const inside = (path) =>
    readdirSync(join(source, path), { withFileTypes: true }).filter((entry) => entry.isFile());
  const files = SHOWN.flatMap((path) =>
    statSync(join(source, path)).isDirectory()
      ? inside(path)
          .map(({ name }) => `${path}/${name}`)
          .sort()
      : [path],
  );
  const items = files.map((file) => `- [${file}](${basename(file)}.md)\n`);
  const text = `# Files\n\nFiles of the installation that other pages refer to.\n\n${items.join('')}`;
  return [
    page({ path: 'files/index', section: 'files', nav: 'All files', text }),
    ...files.map((file) =>
      page({
        path: `files/${basename(file)}`,
        section: 'files',
        file,
        nav: basename(file),
        text: shown(file, read(file)),
      }),
    ),
  ];
}

/** A file as it is. */
function shown(file, text) {
  const language = LANGUAGES[extname(file)] ?? 'sh';
  return `# ${basename(file)}\n\n\`${file}\` of the installation.\n\n\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\n`;
}
