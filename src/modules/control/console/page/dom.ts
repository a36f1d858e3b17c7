/** The content of an element; `undefined` and `false` add nothing. */
export type Child = Node | string | number | false | undefined;

type Listener = (event: never) => void;
type Attributes = Readonly<Record<string, string | number | boolean | undefined | Listener>>;

const SVG = 'http://www.w3.org/2000/svg';

/** Creates an element. `onclick` and the like are listeners; `true` is an attribute without a value, `false` no attribute. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** Creates an SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...solid(children));
  return element;
}

function solid(children: readonly Child[]): (Node | string)[] {
  return children.flatMap((child) => {
    if (child === undefined || child === false) return [];
    return typeof child === 'number' ? String(child) : child;
  });
}

/** Replaces the content of an element. */
export function show(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren(...solid(children));
}

/** Sets a text only if it changes, so as not to disturb screen readers and selections. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** The element of one item in a list. */
export interface Row<T> {
  readonly element: Element;
  update(item: T): void;
}

/** A list whose rows keep their elements while their keys stay, so that focus and scrolling survive an update. */
export class Rows<T> {
  readonly #parent: Element;
  readonly #keyOf: (item: T) => string;
  readonly #make: (item: T) => Row<T>;
  #rows = new Map<string, Row<T>>();

  constructor(parent: Element, keyOf: (item: T) => string, make: (item: T) => Row<T>) {
    this.#parent = parent;
    this.#keyOf = keyOf;
    this.#make = make;
  }

  update(items: readonly T[]): void {
    const before = this.#rows;
    this.#rows = new Map();
    let next = this.#parent.firstElementChild;
    for (const item of items) {
      const key = this.#keyOf(item);
      const row = before.get(key) ?? this.#make(item);
      before.delete(key);
      this.#rows.set(key, row);
      row.update(item);
      if (row.element === next) next = next.nextElementSibling;
      else this.#parent.insertBefore(row.element, next);
    }
    for (const { element } of before.values()) element.remove();
  }
}

/** Returns a text field for code, without correction, capitalization and completion. */
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

/** Returns a field with its label above it. */
export function labelled(name: string, input: HTMLElement): HTMLElement {
  return h('label', { class: 'labelled' }, h('span', {}, name), input);
}

export function primaryButton(text: string): HTMLButtonElement {
  return h('button', { type: 'submit', class: 'primary' }, text);
}

export function plainButton(text: string, onclick: () => void, label?: string): HTMLButtonElement {
  return h('button', { type: 'button', class: 'plain', 'aria-label': label, onclick }, text);
}

/** The options of a group of radio buttons. */
interface Choice {
  /** Label for assistive technology. */
  readonly legend: string;
  /** Radio buttons with the same name form a group. */
  readonly name: string;
  readonly chosen: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  choose(value: string): void;
}

/** Returns a group of radio buttons that shows all its options. */
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
