import { DATA_PATHS } from '../../contract.ts';
import type { RouteAnswer } from '../../contract.ts';
import { read } from '../api.ts';
import { h, show } from '../dom.ts';
import { primaryButton, textInput } from '../inputs.ts';
import { chip } from '../marks.ts';

/** Asks the compiled locations who would answer; `found` is told the key of the location. */
export function urlTester(found: (key: string | undefined) => void): HTMLElement {
  const url = textInput('URL or path', { 'data-first': true, value: `${location.origin}/` });
  const verdict = h('div', { class: 'verdict', 'aria-live': 'polite' });
  const test = (event: Event): void => {
    event.preventDefault();
    read<RouteAnswer>(DATA_PATHS.explain, { url: withoutMethod(url.value) }).then(
      (answer) => {
        show(verdict, ...describe(answer));
        found('refusal' in answer ? undefined : `${answer.server}\n${answer.location.text}`);
      },
      (error: unknown) => {
        show(verdict, h('p', { class: 'notice refused' }, (error as Error).message));
        found(undefined);
      },
    );
  };
  return h(
    'section',
    { class: 'card' },
    h(
      'header',
      { class: 'card-head' },
      h('h2', {}, 'Who answers?'),
      h('span', { class: 'quiet' }, 'asked of the compiled locations; nothing is sent'),
    ),
    h('form', { class: 'line', onsubmit: test }, url, primaryButton('Test')),
    verdict,
  );
}

/** `GET /path` is how logs write it; the method decides nothing about locations. */
function withoutMethod(text: string): string {
  return text.trim().replace(/^[A-Z]+\s+/, '');
}

function describe(answer: RouteAnswer): readonly Node[] {
  if ('refusal' in answer) return [h('p', { class: 'notice refused' }, `Nothing: ${answer.refusal}.`)];
  const { address, server, byDefault, uri, regexes, location: at } = answer;
  const where = at.kind === 'server' ? 'the server itself' : at.text;
  const steps = [
    step('listens', h('code', {}, address)),
    step('server', h('code', {}, server), byDefault && chip('default')),
    step('path', h('code', {}, uri)),
    ...regexes.filter((regex) => regex !== at.text).map((regex) => step('regex', h('code', {}, regex))),
    step('location', h('code', {}, where), at.internal && chip('internal: 404 from outside', 'refused')),
    step(
      'answered by',
      at.answeredBy === undefined ? chip('files') : h('code', { class: 'strong' }, at.answeredBy),
      h('small', {}, at.place),
    ),
  ];
  return [h('ol', { class: 'steps' }, ...steps)];
}

function step(name: string, ...content: readonly (Node | false)[]): HTMLElement {
  return h('li', {}, h('small', {}, name), h('span', {}, ...content));
}
