import { h } from '../dom.ts';
import { labelled, plainButton, textInput } from '../inputs.ts';
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
    if (isTable) this.element.append(plainButton('Add a filter', () => this.#add()));
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
