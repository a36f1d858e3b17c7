import { PrefixTree } from './prefix-tree.ts';

/** A found location, with the captures of its regex where it has one. */
export interface Found<T> {
  readonly target: T;
  readonly captures: RegExpExecArray | undefined;
  /** No location further out competes any more: an exact match or a regex. */
  readonly final: boolean;
}

/** A location to add: what it leads to, and the level of the locations nested in it. */
export interface Place<T> {
  readonly target: T;
  readonly inner: LocationLevel<T> | undefined;
}

interface PrefixPlace<T> {
  readonly found: Found<T>;
  readonly inner: LocationLevel<T> | undefined;
  /** `^~`: the regexes of this level are not asked. */
  readonly stop: boolean;
}

/**
 * The locations of one block, searched as nginx does: exact, then the longest prefix and what is nested in it, then the
 * regexes in file order unless the prefix says stop (ngx_http_core_find_location).
 */
export class LocationLevel<T> {
  readonly #exact = new Map<string, Found<T>>();
  readonly #prefixes = new PrefixTree<PrefixPlace<T>>();
  readonly #regexes: (Place<T> & { readonly regex: RegExp })[] = [];

  addExact(path: string, { target }: Place<T>): void {
    this.#exact.set(path, { target, captures: undefined, final: true });
  }

  addPrefix(path: string, { target, inner, stop }: Place<T> & { readonly stop: boolean }): void {
    this.#prefixes.set(path, { found: { target, captures: undefined, final: false }, inner, stop });
  }

  addRegex(place: Place<T> & { readonly regex: RegExp }): void {
    this.#regexes.push(place);
  }

  /** `undefined` when no location of this level matches. A regex deeper inside decides before one further out. */
  find(uri: string): Found<T> | undefined {
    const exact = this.#exact.get(uri);
    if (exact) return exact;
    const prefix = this.#prefixes.longest(uri);
    const found = prefix?.inner?.find(uri) ?? prefix?.found;
    if (found?.final || prefix?.stop || this.#regexes.length === 0) return found;
    return this.#findRegex(uri) ?? found;
  }

  #findRegex(uri: string): Found<T> | undefined {
    for (const { regex, target, inner } of this.#regexes) {
      const captures = regex.exec(uri);
      if (captures) return inner?.find(uri) ?? { target, captures, final: true };
    }
    return undefined;
  }
}
