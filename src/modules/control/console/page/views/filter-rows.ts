import { h } from '../dom.ts';
import type { Field } from '../openapi.ts';
import { OPERATORS } from '../rest-call.ts';
import type { Filter } from '../rest-call.ts';

interface FilterRow {
  readonly element: HTMLElement;
  value(): Filter;
}

/** Conditions on the columns of a table, or the parameters of a function. */
export class FilterRows {
  readonly element = h('div', { class: 'filters' });
  readonly #fields: readonly Field[];
  readonly #changed: () => void;
  #rows: readonly FilterRow[] = [];

  constructor(fields: readonly Field[], { isTable, changed }: { isTable: boolean; changed: () => void }) {
    this.#fields = fields;
    this.#changed = changed;
    if (isTable)
      this.element.append(
        h('button', { type: 'button', class: 'plain', onclick: () => this.#add() }, 'Add a filter'),
      );
    else this.#rows = fields.map(parameterRow);
    this.element.prepend(...this.#rows.map((row) => row.element));
  }

  /** Those that have a value. */
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
  const value = h('input', {
    type: 'text',
    'aria-label': 'Value',
    placeholder: 'value',
    spellcheck: 'false',
    autocomplete: 'off',
  });
  const gone = h(
    'button',
    { type: 'button', class: 'plain', 'aria-label': 'Remove this filter', onclick: remove },
    '×',
  );
  return {
    element: h('div', { class: 'line' }, column, operator, value, gone),
    value: () => ({ column: column.value, operator: operator.value, value: value.value }),
  };
}

function parameterRow({ name, type, isRequired }: Field): FilterRow {
  const value = h('input', {
    type: 'text',
    'aria-label': name,
    placeholder: isRequired ? `${type}, required` : type,
    spellcheck: 'false',
    autocomplete: 'off',
  });
  return {
    element: h('label', { class: 'labelled' }, h('span', {}, name), value),
    value: () => ({ column: name, operator: '', value: value.value }),
  };
}
