import { h, setText, show } from '../dom.ts';
import { labelled, primaryButton, textInput } from '../inputs.ts';
import type { Resource } from '../openapi.ts';
import { urlOf } from '../rest-call.ts';
import type { RestCall } from '../rest-call.ts';
import { FilterRows } from './filter-rows.ts';
import { answerTo } from './rest-answer.ts';
import { SnippetBox } from './snippet-box.ts';

const FIRST_ROWS = '10';

/** A form for one table or function, the answer to it, and the same call for other clients. */
export class TryForm {
  readonly element: HTMLElement;
  readonly #base: string;
  readonly #resource: Resource;
  readonly #method: HTMLSelectElement;
  readonly #select = textInput('select', { placeholder: '*' });
  readonly #order = textInput('order', { placeholder: 'id.desc' });
  readonly #limit = h('input', { type: 'number', min: 0, 'aria-label': 'limit' });
  readonly #token = textInput('Bearer token', { type: 'password', placeholder: 'none' });
  readonly #body = h('textarea', { rows: 5, spellcheck: 'false', 'aria-label': 'Body as JSON' });
  readonly #bodyField = labelled('body', this.#body);
  readonly #url = h('code', { class: 'url' });
  readonly #answer = h('div', { class: 'answer', 'aria-live': 'polite' });
  readonly #snippets = new SnippetBox();
  readonly #filters: FilterRows;

  constructor(base: string, resource: Resource) {
    this.#base = base;
    this.#resource = resource;
    const isTable = resource.kind === 'table';
    const methods = resource.methods.map((word) => h('option', {}, word));
    const onchange = (): void => this.#suggest();
    this.#method = h('select', { 'aria-label': 'Method', onchange }, ...methods);
    this.#filters = new FilterRows(resource.fields, { isTable, changed: () => this.#changed() });
    this.element = h('div', { class: 'stack' }, this.#form(isTable), this.#snippets.element);
    this.#suggest();
  }

  #form(isTable: boolean): HTMLElement {
    return h(
      'form',
      {
        class: 'card try',
        oninput: () => this.#changed(),
        onsubmit: (event: Event) => {
          event.preventDefault();
          void answerTo(this.#call()).then((nodes) => show(this.#answer, ...nodes));
        },
      },
      h('header', { class: 'card-head' }, h('h2', {}, 'Try it'), this.#url),
      this.#filters.element,
      h(
        'div',
        { class: 'fields-line' },
        labelled('method', this.#method),
        isTable && labelled('select', this.#select),
        isTable && labelled('order', this.#order),
        isTable && labelled('limit', this.#limit),
        labelled('bearer token', this.#token),
      ),
      this.#bodyField,
      h('div', { class: 'line end' }, primaryButton('Send')),
      this.#answer,
    );
  }

  /** Another method starts with a body and a limit of its own. */
  #suggest(): void {
    const { value } = this.#method;
    this.#body.value = template(this.#resource, value);
    this.#limit.value = this.#resource.kind === 'table' && value === 'GET' ? FIRST_ROWS : '';
    this.#changed();
  }

  #changed(): void {
    const call = this.#call();
    this.#bodyField.hidden = !takesBody(call.method);
    this.#filters.element.hidden = call.kind === 'function' && call.method !== 'GET';
    setText(this.#url, urlOf(call).replace(location.origin, ''));
    this.#snippets.update(call);
  }

  #call(): RestCall {
    const { kind, path, name } = this.#resource;
    const method = this.#method.value;
    return {
      method,
      base: this.#base,
      path,
      kind,
      name,
      select: this.#select.value.trim(),
      filters: kind === 'function' && method !== 'GET' ? [] : this.#filters.values(),
      order: this.#order.value.trim(),
      limit: this.#limit.value,
      body: takesBody(method) ? this.#body.value.trim() : '',
      token: this.#token.value.trim(),
    };
  }
}

function takesBody(method: string): boolean {
  return method !== 'GET' && method !== 'DELETE';
}

/** What a new row, a change or a call may look like. */
function template({ kind, fields }: Resource, method: string): string {
  if (!takesBody(method)) return '';
  const wanted =
    kind === 'function'
      ? fields.filter(({ isRequired }) => isRequired || fields.length < 4)
      : fields.filter(({ isKey }) => !isKey).slice(0, 2);
  return JSON.stringify(Object.fromEntries(wanted.map(({ name, type }) => [name, sampleOf(type)])), null, 2);
}

function sampleOf(type: string): unknown {
  if (/int|numeric|double|real|number|float/.test(type)) return 1;
  if (/bool/.test(type)) return true;
  return /json|object/.test(type) ? {} : 'text';
}
