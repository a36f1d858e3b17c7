import type { ServerName } from '../contract/index.ts';
import { compileRegex, type Regex } from '../http/index.ts';

/** A server found by name; `captures` is set if a regex name matched. */
interface FoundServer<T> {
  readonly server: T;
  readonly captures: RegExpExecArray | undefined;
}

/**
 * The servers of one port by host name. Exact names win, then the longest `*.x`, the longest `x.*`, the first matching
 * regex, and last the default (nginx, "Server names").
 */
export class ServerNames<T> {
  readonly #exact = new Map<string, T>();
  readonly #suffixes = new Map<string, T>();
  readonly #prefixes = new Map<string, T>();
  readonly #regexes: { readonly regex: Regex; readonly server: T }[] = [];
  readonly #fallback: FoundServer<T>;

  constructor(fallback: T) {
    this.#fallback = { server: fallback, captures: undefined };
  }

  /** Adds a name. If several servers have it, the first one wins. */
  add(name: ServerName, server: T): void {
    switch (name.kind) {
      case 'exact':
        return addOnce(this.#exact, name.name, server);
      case 'leading wildcard':
        return addOnce(this.#suffixes, name.suffix, server);
      case 'trailing wildcard':
        return addOnce(this.#prefixes, name.prefix, server);
      case 'regex':
        this.#regexes.push({ regex: compileRegex(name.regex), server });
    }
  }

  /** Finds the server of a host; `host` is in lower case without port, '' if the request has none. */
  find(host: string): FoundServer<T> {
    const server = this.#exact.get(host) ?? this.#bySuffix(host) ?? this.#byPrefix(host);
    return server === undefined ? (this.#byRegex(host) ?? this.#fallback) : { server, captures: undefined };
  }

  #bySuffix(host: string): T | undefined {
    if (this.#suffixes.size === 0) return undefined;
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const server = dot > 0 ? this.#suffixes.get(host.slice(dot)) : undefined;
      if (server !== undefined) return server;
    }
    return undefined;
  }

  #byPrefix(host: string): T | undefined {
    if (this.#prefixes.size === 0) return undefined;
    for (let dot = host.lastIndexOf('.'); dot > 0; dot = host.lastIndexOf('.', dot - 1)) {
      const server = dot < host.length - 1 ? this.#prefixes.get(host.slice(0, dot + 1)) : undefined;
      if (server !== undefined) return server;
    }
    return undefined;
  }

  #byRegex(host: string): FoundServer<T> | undefined {
    for (const { regex, server } of this.#regexes) {
      const captures = regex.exec(host);
      if (captures) return { server, captures };
    }
    return undefined;
  }
}

function addOnce<T>(names: Map<string, T>, name: string, server: T): void {
  if (!names.has(name)) names.set(name, server);
}
