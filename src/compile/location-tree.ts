import type { Regex } from '../http/index.ts';

/** A node of a trie over characters. It holds the run of text that leads to it. */
interface Branch<T> {
  text: string;
  value: T | undefined;
  children?: Map<number, Branch<T>>;
}

/** A longest-prefix search. Its cost depends on the length of the text, not on the number of prefixes. */
export class PrefixTree<T> {
  readonly #root: Branch<T> = { text: '', value: undefined };

  set(prefix: string, value: T): void {
    let branch = this.#root;
    let position = 0;
    while (position < prefix.length) {
      branch.children ??= new Map();
      const child = branch.children.get(prefix.charCodeAt(position));
      if (!child) {
        branch.children.set(prefix.charCodeAt(position), { text: prefix.slice(position), value });
        return;
      }
      const shared = sharedLength(child.text, prefix, position);
      if (shared < child.text.length) split(child, shared);
      branch = child;
      position += shared;
    }
    branch.value = value;
  }

  /** Tells whether exactly this prefix has a value. */
  has(prefix: string): boolean {
    let branch: Branch<T> | undefined = this.#root;
    let position = 0;
    while (branch && position < prefix.length) {
      branch = branch.children?.get(prefix.charCodeAt(position));
      if (!branch || !prefix.startsWith(branch.text, position)) return false;
      position += branch.text.length;
    }
    return branch?.value !== undefined;
  }

  /** Returns the value of the longest prefix of `text`. */
  longest(text: string): T | undefined {
    let branch = this.#root;
    let best = branch.value;
    let position = 0;
    while (position < text.length) {
      const child: Branch<T> | undefined = branch.children?.get(text.charCodeAt(position));
      if (!child || !text.startsWith(child.text, position)) break;
      position += child.text.length;
      branch = child;
      if (branch.value !== undefined) best = branch.value;
    }
    return best;
  }
}

function sharedLength(run: string, text: string, from: number): number {
  let length = 0;
  while (length < run.length && run.charCodeAt(length) === text.charCodeAt(from + length)) length++;
  return length;
}

/** Splits a branch in two: its value and children move one level down. */
function split<T>(branch: Branch<T>, at: number): void {
  const { children } = branch;
  const rest: Branch<T> = { text: branch.text.slice(at), value: branch.value, ...(children && { children }) };
  branch.text = branch.text.slice(0, at);
  branch.value = undefined;
  branch.children = new Map([[rest.text.charCodeAt(0), rest]]);
}

/** A regex location that matched during the search. */
interface RegexMatch<T> {
  readonly target: T;
  readonly captures: RegExpExecArray;
}

/** The result of a search for a location. */
interface FoundLocation<T> {
  readonly target: T;
  /** The regex locations that matched, outermost first. Each sets its captures. */
  readonly matches: readonly RegexMatch<T>[];
  /** True for an exact match or a regex: no outer location is considered any more. */
  readonly final: boolean;
}

/** A location to add: its target, and the level of its nested locations. */
export interface LocationEntry<T> {
  readonly target: T;
  readonly inner: LocationLevel<T> | undefined;
}

interface PrefixEntry<T> {
  readonly found: FoundLocation<T>;
  readonly inner: LocationLevel<T> | undefined;
  /** `^~`: the regexes of this level are skipped. */
  readonly stop: boolean;
}

const NONE: readonly never[] = [];

/**
 * The locations of one block. They are searched as in nginx: exact matches, then the longest prefix and its nested
 * locations, then the regexes in file order unless the prefix has `^~` (ngx_http_core_find_location).
 */
export class LocationLevel<T> {
  readonly #exact = new Map<string, FoundLocation<T>>();
  readonly #prefixes = new PrefixTree<PrefixEntry<T>>();
  readonly #regexes: (LocationEntry<T> & { readonly regex: Regex })[] = [];

  addExact(path: string, { target }: LocationEntry<T>): void {
    this.#exact.set(path, { target, matches: NONE, final: true });
  }

  /**
   * Adds an exact location unless an exact or prefix location of this level has the path. Must be called after all
   * others are added.
   */
  addSpareExact(path: string, entry: LocationEntry<T>): void {
    if (!this.#exact.has(path) && !this.#prefixes.has(path)) this.addExact(path, entry);
  }

  addPrefix(path: string, { target, inner, stop }: LocationEntry<T> & { readonly stop: boolean }): void {
    this.#prefixes.set(path, { found: { target, matches: NONE, final: false }, inner, stop });
  }

  addRegex(entry: LocationEntry<T> & { readonly regex: Regex }): void {
    this.#regexes.push(entry);
  }

  /**
   * Finds the location of a URI; `undefined` if none on this level matches. Nested regexes take precedence over outer
   * ones.
   */
  find(uri: string): FoundLocation<T> | undefined {
    const exact = this.#exact.get(uri);
    if (exact) return exact;
    const prefix = this.#prefixes.longest(uri);
    const found = prefix?.inner?.find(uri) ?? prefix?.found;
    if (found?.final || prefix?.stop || this.#regexes.length === 0) return found;
    return this.#findRegex(uri) ?? found;
  }

  #findRegex(uri: string): FoundLocation<T> | undefined {
    for (const { regex, target, inner } of this.#regexes) {
      const captures = regex.exec(uri);
      if (!captures) continue;
      const here = { target, captures };
      const nested = inner?.find(uri) ?? { target, matches: NONE };
      return { target: nested.target, matches: [here, ...nested.matches], final: true };
    }
    return undefined;
  }
}
