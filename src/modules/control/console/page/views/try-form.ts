import { h, labelled, plainButton, primaryButton, segmented, setText, show, textInput } from '../dom.ts';
import { latency } from '../format.ts';
import { chip, toneOf } from '../marks.ts';
import type { Field, Resource } from '../openapi.ts';
import { resultOf } from './result-grid.ts';
import { type Filter, headersOf, OPERATORS, type RestCall, SNIPPETS, urlOf } from '../rest-call.ts';

interface FilterRow {
  readonly element: HTMLElement;
  value(): Filter;
}

/** The filters on columns of a table, or the parameters of a function. */
class FilterRows {
  readonly element = h('div', { class: 'filters' });
  readonly #fields: readonly Field[];
  readonly #changed: () => void;
  #rows: readonly FilterRow[] = [];

  constructor(fields: readonly Field[], { isTable, changed }: { isTable: boolean; changed: () => void }) {
    this.#fields = fields;
    this.#changed = changed;
    if (isTable) this.element.append(plainButton('Add a filter', () => this.#add()));
    else this.#rows = fields.map(parameterRow);
    this.element.prepend(...this.#rows.map((row) => row.element));
  }

  /** Returns the filters that have a value. */
  values(): readonly Filter[] {
    return this.#rows.map((row) => row.value()).filter(({ value }) => value !== '');
  }

  #add(): void {
    const row = filterRow(this.#fields, () => {
      this.#rows = this.#rows.filter((other) => other !== row);
      row.element.remove();
      this.#changed();
    });
    this.#rows = [...this.#rows, row];
    this.element.lastElementChild?.before(row.element);
    row.element.querySelector('select')?.focus();
  }
}

function filterRow(fields: readonly Field[], remove: () => void): FilterRow {
  const column = h('select', { 'aria-label': 'Column' }, ...fields.map(({ name }) => h('option', {}, name)));
  const operator = h(
    'select',
    { 'aria-label': 'Operator' },
    ...OPERATORS.map((name) => h('option', {}, name)),
  );
  const value = textInput('Value', { placeholder: 'value' });
  const gone = plainButton('×', remove, 'Remove this filter');
  return {
    element: h('div', { class: 'line' }, column, operator, value, gone),
    value: () => ({ column: column.value, operator: operator.value, value: value.value }),
  };
}

function parameterRow({ name, type, isRequired }: Field): FilterRow {
  const value = textInput(name, { placeholder: isRequired ? `${type}, required` : type });
  return {
    element: labelled(name, value),
    value: () => ({ column: name, operator: '', value: value.value }),
  };
}

/** Sends a call and gives the elements that show the response. */
async function responseTo(call: RestCall, sort?: (column: string) => void): Promise<readonly Node[]> {
  const startedMs = performance.now();
  try {
    const { method, body } = call;
    const init = { method, headers: headersOf(call), ...(body !== '' && { body }) };
    const response = await fetch(urlOf(call), init);
    const text = await response.text();
    const range = response.headers.get('content-range');
    const facts = [latency((performance.now() - startedMs) / 1000), range && `rows ${range}`].filter(Boolean);
    const status = String(response.status);
    return [
      h(
        'p',
        { class: 'response-head' },
        chip(status, toneOf(status)),
        h('span', {}, response.statusText),
        h('span', { class: 'quiet' }, facts.join(' · ')),
      ),
      ...resultOf(text, { order: call.order, ...(sort && { sort }) }),
    ];
  } catch (error) {
    return [h('p', { class: 'notice failed' }, (error as Error).message)];
  }
}

/** A call as code for one of several clients, which can be copied. */
class SnippetBox {
  readonly element: HTMLElement;
  readonly #code = h('code');
  readonly #copied = h('span', { class: 'quiet', role: 'status' });
  #chosen = SNIPPETS[0]?.name ?? '';
  #call: RestCall | undefined;

  constructor() {
    const clients = segmented({
      legend: 'Client',
      name: 'client',
      chosen: this.#chosen,
      options: SNIPPETS.map(({ name }) => [name, name]),
      choose: (name) => {
        this.#chosen = name;
        this.#draw();
      },
    });
    const copy = plainButton('Copy', () => void this.#copy());
    this.element = h(
      'section',
      { class: 'card' },
      h('header', { class: 'card-head' }, clients, h('span', { class: 'chips' }, this.#copied, copy)),
      h('pre', { class: 'snippet', tabindex: 0, 'aria-label': 'The call as code' }, this.#code),
    );
  }

  update(call: RestCall): void {
    this.#call = call;
    this.#draw();
  }

  #draw(): void {
    const snippet = SNIPPETS.find(({ name }) => name === this.#chosen);
    setText(this.#code, (this.#call && snippet?.text(this.#call)) ?? '');
    setText(this.#copied, '');
  }

  async #copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.#code.textContent ?? '');
      setText(this.#copied, 'Copied');
    } catch {
      // Browsers allow access to the clipboard in secure contexts only.
      getSelection()?.selectAllChildren(this.#code);
      setText(this.#copied, 'Selected: copy it with the keyboard');
    }
  }
}

const FIRST_ROWS = '10';

/** A form for one table or function, the response, and the same call as code for other clients. */
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
  readonly #response = h('div', { class: 'response', 'aria-live': 'polite' });
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
          void this.#send();
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
      this.#response,
    );
  }

  async #send(): Promise<void> {
    const call = this.#call();
    const isOrdered = call.kind === 'table' && call.method === 'GET';
    const nodes = await responseTo(call, isOrdered ? (column) => this.#sort(column) : undefined);
    show(this.#response, ...nodes);
  }

  /** Sorts the rows by a column; in the other direction if they already are. */
  #sort(column: string): void {
    this.#order.value = this.#order.value.trim() === `${column}.asc` ? `${column}.desc` : `${column}.asc`;
    this.#changed();
    void this.#send();
  }

  /** Presets body and limit for another method. */
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

export function takesBody(method: string): boolean {
  return method !== 'GET' && method !== 'DELETE';
}

/** Returns an example for a new row, a change or a call. */
export function template({ kind, fields }: Pick<Resource, 'kind' | 'fields'>, method: string): string {
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
