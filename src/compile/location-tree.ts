import type { Regex } from '../http/index.ts';

/** A trie over characters: each node holds the run of text that leads to it. */
interface Branch<T> {
  text: string;
  value: T | undefined;
  readonly children: Map<number, Branch<T>>;
}

/** Longest-prefix search whose cost grows with the length of the text, not with the number of prefixes. */
export class PrefixTree<T> {
  readonly #root: Branch<T> = { text: '', value: undefined, children: new Map() };

  set(prefix: string, value: T): void {
    let branch = this.#root;
    let position = 0;
    while (position < prefix.length) {
      const child = branch.children.get(prefix.charCodeAt(position));
      if (!child) {
        const leaf: Branch<T> = { text: prefix.slice(position), value, children: new Map() };
        branch.children.set(prefix.charCodeAt(position), leaf);
        return;
      }
      const shared = sharedLength(child.text, prefix, position);
      if (shared < child.text.length) split(child, shared);
      branch = child;
      position += shared;
    }
    branch.value = value;
  }

  /** Whether a value was set for exactly this prefix. */
  has(prefix: string): boolean {
    let branch: Branch<T> | undefined = this.#root;
    let position = 0;
    while (branch && position < prefix.length) {
      branch = branch.children.get(prefix.charCodeAt(position));
      if (!branch || !prefix.startsWith(branch.text, position)) return false;
      position += branch.text.length;
    }
    return branch?.value !== undefined;
  }

  /** The value of the longest prefix of `text`. */
  longest(text: string): T | undefined {
    let branch = this.#root;
    let best = branch.value;
    let position = 0;
    while (position < text.length) {
      const child = branch.children.get(text.charCodeAt(position));
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

/** Cuts a branch in two: what stood there moves one step down. */
function split<T>(branch: Branch<T>, at: number): void {
  const rest: Branch<T> = {
    text: branch.text.slice(at),
    value: branch.value,
    children: new Map(branch.children),
  };
  branch.text = branch.text.slice(0, at);
  branch.value = undefined;
  branch.children.clear();
  branch.children.set(rest.text.charCodeAt(0), rest);
}

/** A regex that matched on the way to a location. */
interface RegexMatch<T> {
  readonly target: T;
  readonly captures: RegExpExecArray;
}

/** A found location. */
export interface FoundLocation<T> {
  readonly target: T;
  /** The regexes that led here, outermost first: each leaves its captures to what is nested in it. */
  readonly matches: readonly RegexMatch<T>[];
  /** No location further out competes any more: an exact match or a regex. */
  readonly final: boolean;
}

/** A location to add: what it leads to, and the level of the locations nested in it. */
export interface LocationEntry<T> {
  readonly target: T;
  readonly inner: LocationLevel<T> | undefined;
}

interface PrefixEntry<T> {
  readonly found: FoundLocation<T>;
  readonly inner: LocationLevel<T> | undefined;
  /** `^~`: the regexes of this level are not asked. */
  readonly stop: boolean;
}

const NONE: readonly never[] = [];

/**
 * The locations of one block, searched as nginx does: exact, then the longest prefix and what is nested in it, then the
 * regexes in file order unless the prefix says stop (ngx_http_core_find_location).
 */
export class LocationLevel<T> {
  readonly #exact = new Map<string, FoundLocation<T>>();
  readonly #prefixes = new PrefixTree<PrefixEntry<T>>();
  readonly #regexes: (LocationEntry<T> & { readonly regex: Regex })[] = [];

  addExact(path: string, { target }: LocationEntry<T>): void {
    this.#exact.set(path, { target, matches: NONE, final: true });
  }

  /** For a path that no exact or prefix location of this level has; to be called behind all others. */
  addSpareExact(path: string, place: LocationEntry<T>): void {
    if (!this.#exact.has(path) && !this.#prefixes.has(path)) this.addExact(path, place);
  }

  addPrefix(path: string, { target, inner, stop }: LocationEntry<T> & { readonly stop: boolean }): void {
    this.#prefixes.set(path, { found: { target, matches: NONE, final: false }, inner, stop });
  }

  addRegex(place: LocationEntry<T> & { readonly regex: Regex }): void {
    this.#regexes.push(place);
  }

  /** `undefined` when no location of this level matches. A regex deeper inside decides before one further out. */
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
