import { h } from './dom.ts';

/** A field for code-like text: nothing corrects, capitalises or completes it. */
export function textInput(
  label: string,
  more: Readonly<Record<string, string | number | boolean>> = {},
): HTMLInputElement {
  return h('input', {
    type: 'text',
    'aria-label': label,
    spellcheck: 'false',
    autocapitalize: 'off',
    autocomplete: 'off',
    ...more,
  });
}

/** A field with its name above it. */
export function labelled(name: string, input: HTMLElement): HTMLElement {
  return h('label', { class: 'labelled' }, h('span', {}, name), input);
}

export function primaryButton(text: string): HTMLButtonElement {
  return h('button', { type: 'submit', class: 'primary' }, text);
}

export function plainButton(text: string, onclick: () => void, label?: string): HTMLButtonElement {
  return h('button', { type: 'button', class: 'plain', 'aria-label': label, onclick }, text);
}

/** What a row of radio buttons chooses from. */
export interface Choice {
  /** For assistive technology. */
  readonly legend: string;
  /** Radio buttons of one name belong together. */
  readonly name: string;
  readonly chosen: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  choose(value: string): void;
}

/** One of a few, all in sight. */
export function segmented({ legend, name, chosen, options, choose }: Choice): HTMLElement {
  return h(
    'fieldset',
    { class: 'segmented' },
    h('legend', { class: 'unseen' }, legend),
    ...options.map(([value, label]) =>
      h(
        'label',
        {},
        h('input', { type: 'radio', name, value, checked: value === chosen, onchange: () => choose(value) }),
        h('span', {}, label),
      ),
    ),
  );
}
