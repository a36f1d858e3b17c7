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
