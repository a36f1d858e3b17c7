import type { ServerName } from '../../contract/index.ts';
import { compileRegex } from '../../http/index.ts';
import type { Referer } from './directives.ts';

/** Whether a value of `Referer` is valid. */
export type IsValid = (referer: string | undefined) => boolean;

const SCHEME = /^https?:\/\//i;
/** nginx: the length of `http://i.ru`. */
const SHORTEST = 11;
const LONGEST_HOST = 256;

/** nginx ngx_http_referer_variable: exact names first, then the longest wildcard, then regexes. */
export function compileReferers(referers: readonly Referer[], serverNames: readonly ServerName[]): IsValid {
  const has = (kind: Referer['kind']): boolean => referers.some((referer) => referer.kind === kind);
  const names = has('server_names') ? serverNames : [];
  const hosts = new Hosts();
  for (const referer of referers) if (referer.kind === 'host') hosts.add(referer.pattern, referer.path);
  for (const name of names) if (name.kind !== 'regex') hosts.add(patternOf(name), '');
  const hostRegexes = names.flatMap((name) => (name.kind === 'regex' ? compileRegex(name.regex) : []));
  const regexes = referers.flatMap((referer) =>
    referer.kind === 'regex' ? compileRegex(referer.regex) : [],
  );
  const allowsNone = has('none');
  const allowsBlocked = has('blocked');
  return (referer) => {
    if (referer === undefined) return allowsNone;
    const scheme = referer.length >= SHORTEST ? SCHEME.exec(referer) : null;
    if (!scheme) return allowsBlocked;
    const rest = referer.slice(scheme[0].length);
    const end = rest.search(/[/:]/);
    const host = (end < 0 ? rest : rest.slice(0, end)).toLowerCase();
    if (host.length > LONGEST_HOST) return false;
    const path = hosts.find(host);
    if (path !== undefined) return pathOf(rest).startsWith(path);
    return hostRegexes.some((regex) => regex.test(host)) || regexes.some((regex) => regex.test(rest));
  };
}

/** From the first slash behind the host on. */
function pathOf(rest: string): string {
  const slash = rest.indexOf('/');
  return slash < 0 ? '' : rest.slice(slash);
}

function patternOf(name: Exclude<ServerName, { kind: 'regex' }>): string {
  if (name.kind === 'exact') return name.name;
  return name.kind === 'leading wildcard' ? `*${name.suffix}` : `${name.prefix}*`;
}

/** What the path must begin with, by host. */
class Hosts {
  readonly #exact = new Map<string, string>();
  readonly #suffixes = new Map<string, string>();
  readonly #prefixes = new Map<string, string>();

  /** Of two equal patterns the first counts. */
  add(pattern: string, path: string): void {
    if (pattern.startsWith('.')) {
      addFirst(this.#exact, pattern.slice(1), path);
      addFirst(this.#suffixes, pattern, path);
    } else if (pattern.startsWith('*.')) addFirst(this.#suffixes, pattern.slice(1), path);
    else if (pattern.endsWith('.*')) addFirst(this.#prefixes, pattern.slice(0, -1), path);
    else addFirst(this.#exact, pattern, path);
  }

  find(host: string): string | undefined {
    const exact = this.#exact.get(host);
    if (exact !== undefined) return exact;
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const path = dot === 0 ? undefined : this.#suffixes.get(host.slice(dot));
      if (path !== undefined) return path;
    }
    for (let dot = host.lastIndexOf('.'); dot > 0; dot = host.lastIndexOf('.', dot - 1)) {
      const path = this.#prefixes.get(host.slice(0, dot + 1));
      if (path !== undefined) return path;
    }
    return undefined;
  }
}

function addFirst(map: Map<string, string>, key: string, path: string): void {
  if (!map.has(key)) map.set(key, path);
}
