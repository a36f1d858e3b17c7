import { h, setText, show } from '../dom.ts';
import { latency } from '../format.ts';
import { chip, toneOf } from '../marks.ts';
import type { Resource } from '../openapi.ts';
import { headersOf, urlOf } from '../rest-call.ts';
import type { RestCall } from '../rest-call.ts';
import { FilterRows } from './filter-rows.ts';
import { snippetBox } from './snippet-box.ts';

const MAX_SHOWN = 200_000;

/** A form for one table or function, the answer to it, and the same call for other clients. */
export function tryForm(base: string, resource: Resource): HTMLElement {
  const { kind, methods, fields, path, name } = resource;
  const isTable = kind === 'table';
  const method = h('select', { 'aria-label': 'Method' }, ...methods.map((word) => h('option', {}, word)));
  const select = textInput('select', '*');
  const order = textInput('order', 'id.desc');
  const limit = h('input', { type: 'number', min: 0, value: isTable ? 10 : '', 'aria-label': 'limit' });
  const token = h('input', {
    type: 'password',
    autocomplete: 'off',
    'aria-label': 'Bearer token',
    placeholder: 'none: the anonymous role',
  });
  const body = h('textarea', { rows: 4, spellcheck: 'false', 'aria-label': 'Body as JSON' });
  const url = h('code', { class: 'url' });
  const snippets = snippetBox();
  const filters = new FilterRows(fields, { isTable, changed: () => changed() });
  const bodyField = labelled('body', body);

  const call = (): RestCall => {
    const takesBody = method.value !== 'GET' && method.value !== 'DELETE';
    return {
      method: method.value,
      base,
      path,
      kind,
      name,
      select: select.value.trim(),
      filters: filters.values(),
      order: order.value.trim(),
      limit: limit.value,
      body: takesBody ? body.value.trim() : '',
      token: token.value.trim(),
    };
  };
  const changed = (): void => {
    const now = call();
    bodyField.hidden = now.method === 'GET' || now.method === 'DELETE';
    filters.element.hidden = !isTable && now.method !== 'GET';
    setText(url, urlOf(now).replace(location.origin, ''));
    snippets.update(now);
  };
  method.addEventListener('change', () => {
    body.value = template(resource, method.value);
    limit.value = isTable && method.value === 'GET' ? '10' : '';
    changed();
  });
  const answer = h('div', { class: 'answer', 'aria-live': 'polite' });
  body.value = template(resource, method.value);
  const form = h(
    'form',
    {
      class: 'card try',
      oninput: changed,
      onsubmit: (event: Event) => submit(event, { call: call(), answer }),
    },
    h('header', { class: 'card-head' }, h('h2', {}, 'Try it'), url),
    filters.element,
    h(
      'div',
      { class: 'fields-line' },
      labelled('method', method),
      isTable && labelled('select', select),
      isTable && labelled('order', order),
      isTable && labelled('limit', limit),
      labelled('bearer token', token),
    ),
    bodyField,
    h('div', { class: 'line end' }, h('button', { type: 'submit', class: 'primary' }, 'Send')),
    answer,
  );
  changed();
  return h('div', { class: 'stack' }, form, snippets.element);
}

function textInput(label: string, placeholder: string): HTMLInputElement {
  return h('input', {
    type: 'text',
    'aria-label': label,
    placeholder,
    spellcheck: 'false',
    autocapitalize: 'off',
    autocomplete: 'off',
  });
}

function labelled(name: string, input: HTMLElement): HTMLElement {
  return h('label', { class: 'labelled' }, h('span', {}, name), input);
}

/** What a new row, a change or a call may look like. */
function template({ kind, fields }: Resource, method: string): string {
  if (method === 'GET' || method === 'DELETE') return '';
  const wanted = fields.filter(({ isKey, isRequired }) =>
    kind === 'function' ? isRequired || fields.length < 4 : !isKey,
  );
  const sample = wanted.slice(0, kind === 'function' ? 8 : 2).map(({ name, type }) => [name, sampleOf(type)]);
  return JSON.stringify(Object.fromEntries(sample), null, 2);
}

function sampleOf(type: string): unknown {
  if (/int|numeric|double|real|number/.test(type)) return 1;
  if (/bool/.test(type)) return true;
  return /json|object/.test(type) ? {} : 'text';
}

function submit(event: Event, { call, answer }: { call: RestCall; answer: HTMLElement }): void {
  event.preventDefault();
  void send(call).then((nodes) => show(answer, ...nodes));
}

async function send(call: RestCall): Promise<readonly Node[]> {
  const startedMs = performance.now();
  try {
    const init = {
      method: call.method,
      headers: headersOf(call),
      ...(call.body !== '' && { body: call.body }),
    };
    const response = await fetch(urlOf(call), init);
    const text = await response.text();
    const took = latency((performance.now() - startedMs) / 1000);
    const status = String(response.status);
    const range = response.headers.get('content-range');
    return [
      h(
        'p',
        { class: 'answer-head' },
        chip(status, toneOf(status)),
        h('span', {}, response.statusText),
        h('span', { class: 'quiet' }, [took, range && `rows ${range}`].filter(Boolean).join(' · ')),
      ),
      h('pre', { tabindex: 0, 'aria-label': 'Answer' }, pretty(text)),
    ];
  } catch (error) {
    return [h('p', { class: 'notice failed' }, (error as Error).message)];
  }
}

function pretty(text: string): string {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Not JSON: as it came.
  }
  return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}\n…` : shown;
}
