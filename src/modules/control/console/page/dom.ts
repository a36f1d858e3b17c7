/** What an element may hold; `undefined` and `false` are nothing. */
export type Child = Node | string | number | false | undefined;

type Listener = (event: never) => void;
type Attributes = Readonly<Record<string, string | number | boolean | undefined | Listener>>;

const SVG = 'http://www.w3.org/2000/svg';

/** An element. `onclick` and its like are listeners, `true` is an attribute without value, `false` none. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
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

/** Replaces what an element holds. */
export function show(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren(...solid(children));
}

/** Sets a text only where it changes: a screen reader and a selection are left alone otherwise. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** What a list shows of one item. */
export interface Row<T> {
  readonly element: Element;
  update(item: T): void;
}

/** A list whose rows stay the same elements as long as their keys do: focus and scrolling survive an update. */
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
