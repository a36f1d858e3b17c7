import type { TriedPolicy, TriedRelation, TrialOutcome } from '../../contract.ts';
import { h } from '../dom.ts';
import { bytes, pretty } from '../format.ts';
import { chip, toneOf } from '../marks.ts';

/** Returns the cards of an outcome: the response, its reasons, the rights, the plan and the statements. */
export function outcomeCards(outcome: TrialOutcome): readonly HTMLElement[] {
  const { response, reasons, relations, plan, statements } = outcome;
  return [
    ...(response ? [responseCard(response)] : []),
    ...(reasons.length > 0 ? [reasonCard(reasons, response !== undefined)] : []),
    ...(relations.length > 0 ? [card('Privileges and row security', relations.map(relationItem))] : []),
    ...(plan === undefined
      ? []
      : [card('Plan', [h('pre', { class: 'plan', tabindex: 0, 'aria-label': 'Plan' }, plan)])]),
    ...(statements.length > 0 ? [card('Statements', statements.map(statementItem))] : []),
  ];
}

function card(title: string, content: readonly HTMLElement[], note?: HTMLElement): HTMLElement {
  return h(
    'section',
    { class: 'card' },
    h('header', { class: 'card-head' }, h('h2', {}, title), note),
    ...content,
  );
}

function responseCard({
  status,
  headers,
  body,
  bodyBytes,
  isCut,
}: NonNullable<TrialOutcome['response']>): HTMLElement {
  const text = String(status);
  const size = isCut ? `${bytes(bodyBytes)}, the beginning is shown` : bytes(bodyBytes);
  const lines = headers.map(([name, value]) => `${name}: ${value}`).join('\n');
  return card(
    'Response',
    [
      h('pre', { tabindex: 0, 'aria-label': 'Response' }, isCut ? body : pretty(body)),
      h('details', {}, h('summary', {}, 'Headers'), h('pre', {}, lines)),
    ],
    h('span', { class: 'chips' }, chip(text, toneOf(text)), h('span', { class: 'quiet' }, size)),
  );
}

function reasonCard(reasons: TrialOutcome['reasons'], hasResponse: boolean): HTMLElement {
  return card(hasResponse ? 'Why' : 'What it would meet', [
    h(
      'ul',
      { class: 'reasons' },
      ...reasons.map(({ text, remedy }) => h('li', {}, text, remedy !== undefined && h('code', {}, remedy))),
    ),
  ]);
}

const SECURITY = {
  off: 'no row security',
  applies: 'row security applies',
  bypassed: 'row security is bypassed',
} as const;

function relationItem({
  name,
  kind,
  role,
  isDirect,
  commands,
  rowSecurity,
  policies,
}: TriedRelation): HTMLElement {
  const rights = commands.map(({ command, isAllowed, missingColumns }) =>
    chip(
      missingColumns ? `${command} but ${missingColumns.join(', ')}` : isAllowed ? command : `no ${command}`,
      isAllowed ? 'ok' : 'failed',
    ),
  );
  const how = isDirect ? `${kind}, as ${role}` : `${kind}, through a view, as ${role}`;
  return h(
    'div',
    { class: 'relation' },
    h(
      'div',
      { class: 'relation-head' },
      h('code', {}, name),
      h('span', { class: 'quiet' }, how),
      h('span', { class: 'chips' }, ...rights, chip(SECURITY[rowSecurity])),
    ),
    policies.length > 0 && h('ul', { class: 'policies' }, ...policies.map(policyItem)),
  );
}

function policyItem({ name, isPermissive, command, roles, using, check, applies }: TriedPolicy): HTMLElement {
  const kind = `${isPermissive ? 'permissive' : 'restrictive'} · ${command} · to ${roles.join(', ')}`;
  return h(
    'li',
    { class: applies ? undefined : 'idle' },
    h('b', {}, name),
    ' ',
    h('small', {}, `${kind} · ${applies ? 'applies' : 'does not apply'}`),
    using !== undefined && h('code', {}, `using ${using}`),
    check !== undefined && h('code', {}, `with check ${check}`),
  );
}

function statementItem({ text, values }: TrialOutcome['statements'][number]): HTMLElement {
  return h(
    'div',
    { class: 'statement' },
    h('pre', { tabindex: 0, 'aria-label': 'Statement' }, text),
    values.length > 0 &&
      h(
        'details',
        {},
        h('summary', {}, values.length === 1 ? '1 value' : `${values.length} values`),
        h('ol', {}, ...values.map((value) => h('li', {}, h('code', {}, value)))),
      ),
  );
}
