import { type ConfigFinding, type ConfigText, DATA_PATHS } from '../../contract.ts';
import { read } from '../api.ts';
import { h, show } from '../dom.ts';
import { plural } from '../format.ts';
import { empty } from '../marks.ts';
import type { OpenView } from '../shell.ts';

/** Comment, quoted text, variable, punctuation, blanks or word: the first alternative that matches. */
const TOKEN =
  /(#.*$)|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(\$\{[^}]*\}|\$\w+)|([{};])|(\s+)|([^\s{};"'$]+|\$)/g;

/** Highlights lines of a configuration. Of a quoted text over several lines only the first line is highlighted. */
function highlight(lines: readonly string[]): readonly (readonly Node[])[] {
  let isFirst = true;
  return lines.map((line) =>
    [...line.matchAll(TOKEN)].map(([text, comment, quoted, variable, mark, blank]) => {
      if (blank !== undefined) return document.createTextNode(text);
      if (comment !== undefined) return piece('comment', text);
      if (mark !== undefined) {
        isFirst = true;
        return piece('mark', text);
      }
      const role = isFirst
        ? 'directive'
        : quoted !== undefined
          ? 'quoted'
          : variable !== undefined
            ? 'variable'
            : 'word';
      isFirst = false;
      return role === 'word' ? document.createTextNode(text) : piece(role, text);
    }),
  );
}

function piece(role: string, text: string): HTMLElement {
  return h('span', { class: `t-${role}` }, text);
}

/** The view of the active configuration, with the warnings of its load beside the lines. */
export const openConfig: OpenView = ({ signal }) => {
  const element = h('div', { class: 'stack' });
  read<ConfigText>(DATA_PATHS.config, {}, signal).then(
    (text) => show(element, summary(text), ...text.files.map((file) => fileCard(file, text.findings))),
    (error: unknown) => show(element, empty('The configuration cannot be shown', (error as Error).message)),
  );
  return { title: 'Configuration', element };
};

function summary({ files, findings }: ConfigText): HTMLElement {
  const placeless = findings.filter(({ place }) => !place);
  const found =
    findings.length === 0
      ? 'It was loaded without warnings; gw check finds more.'
      : `Its load gave ${plural(findings.length, 'warning')}; gw check looks further.`;
  return h(
    'div',
    { class: 'stack tight' },
    h(
      'p',
      { class: 'lead' },
      `The active configuration: ${plural(files.length, 'file')}, secrets masked. ${found}`,
    ),
    ...placeless.map(note),
  );
}

function fileCard(
  { name, text }: ConfigText['files'][number],
  findings: readonly ConfigFinding[],
): HTMLElement {
  const own = findings.filter(({ place }) => place?.file === name);
  const lines = text.replace(/\n$/, '').split('\n');
  const isLong = lines.length > 400;
  const code = h(
    'div',
    { class: 'code-lines' },
    ...highlight(lines).flatMap((content, index) => codeLine(content, { number: index + 1, own })),
  );
  return h(
    'details',
    { class: 'card file', open: !isLong },
    h(
      'summary',
      { class: 'card-head' },
      h('h2', {}, h('code', {}, name)),
      h(
        'span',
        { class: 'quiet' },
        `${plural(lines.length, 'line')}${own.length > 0 ? `, ${plural(own.length, 'warning')}` : ''}`,
      ),
    ),
    h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': name }, code),
  );
}

function codeLine(
  content: readonly Node[],
  { number, own }: { number: number; own: readonly ConfigFinding[] },
): readonly HTMLElement[] {
  const found = own.filter(({ place }) => place?.line === number);
  const line = h(
    'div',
    { class: found.length > 0 ? 'code-line found' : 'code-line' },
    h('span', { class: 'line-number', 'aria-hidden': 'true' }, number),
    h('code', {}, ...content),
  );
  return [line, ...found.map(note)];
}

function note({ severity, message, hint }: ConfigFinding): HTMLElement {
  const tone = severity === 'emerg' ? 'failed' : 'refused';
  return h(
    'p',
    { class: `note ${tone}`, role: 'note' },
    h('b', {}, severity),
    ` ${message}`,
    hint !== undefined && h('small', {}, hint),
  );
}
