import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type FaultDetails, placeOf, type Report, type Span } from '../../grammar/index.ts';
import { nearest } from '../config/index.ts';
import type { CoreConfig, WrittenFiles } from '../contract/index.ts';
import { upstreamKey } from '../upstream/index.ts';
import { zoneConflict, type ZoneDeclaration, zoneFault } from '../zone/index.ts';

interface Declared {
  readonly zone: ZoneDeclaration;
  readonly span: Span | undefined;
}

/** Collects the zones that locations name. One name must mean the same zone everywhere. */
export class ZoneCollector {
  readonly #byName = new Map<string, Declared>();
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  add(zone: ZoneDeclaration, span: Span | undefined): void {
    const fault = zoneFault(zone);
    if (fault !== undefined) return this.#report.emerg(fault, span);
    const first = this.#byName.get(zone.name);
    if (!first) return void this.#byName.set(zone.name, { zone, span });
    const conflict = zoneConflict(zone, first.zone);
    if (conflict === undefined) {
      // What is shared in one place is not carried, whatever the others say.
      if (zone.kind === 'dictionary' && zone.isShared) this.#byName.set(zone.name, { ...first, zone });
      return;
    }
    const { span: firstSpan } = first;
    this.#report.emerg(conflict, span, {
      rule: 'duplicate-directive',
      ...(firstSpan && {
        hint: declaredAt(firstSpan),
        related: [{ span: firstSpan, label: 'first declared here' }],
      }),
    });
  }

  /** Returns the names of the zones of a kind. */
  namesOf(kind: ZoneDeclaration['kind']): readonly string[] {
    return this.declarations.filter((zone) => zone.kind === kind).map(({ name }) => name);
  }

  get declarations(): readonly ZoneDeclaration[] {
    return [...this.#byName.values()].map(({ zone }) => zone);
  }
}

function declaredAt(span: Span): string {
  const { file, line, column } = placeOf(span);
  return `first declared at ${file}:${line}:${column}`;
}

/** A name that a location uses and another directive declares. */
interface UsedName {
  readonly kind: 'upstream' | 'ring' | 'cache' | 'dictionary' | 'cluster' | 'only cluster';
  readonly name: string;
  readonly sharesMembers?: true;
  readonly directive: string;
  readonly span: Span | undefined;
}

/** The names of a kind that a configuration declares. */
interface DeclaredNames {
  has(name: string): boolean;
  readonly names?: readonly string[];
}

/** The fault for a name that no directive declares; for caches it is nginx's message. */
const UNDECLARED: Readonly<
  Record<UsedName['kind'], (used: UsedName) => { readonly message: string } & FaultDetails>
> = {
  upstream: ({ name }) => ({ message: `unknown upstream "${name}"` }),
  cluster: ({ name }) => ({ message: `unknown cluster "${name}"`, rule: 'bad-reference' }),
  'only cluster': ({ name, directive }) => ({
    message: `"${name}" is ambiguous: there are several clusters`,
    rule: 'bad-reference',
    ...(!['sticky', 'keyval_zone'].includes(directive) && { hint: 'name one: cluster=name' }),
  }),
  ring: ({ name }) => ({ message: `no "worker_events_zone" has the name "${name}"` }),
  dictionary: ({ name }) => ({
    message: `no dictionary has the name "${name}"`,
    rule: 'bad-reference',
    hint: `declare it: shared_dict_zone zone=${name}:8m, or keyval_zone`,
  }),
  cache: ({ name, directive }) => ({
    message: `"${directive}" zone "${name}" is unknown`,
    rule: 'bad-reference',
    hint: `declare it: ${/^(?:fastcgi|uwsgi|scgi)/.exec(directive)?.[0] ?? 'proxy'}_cache_path cache keys_zone=${name}:10m`,
  }),
};

/** Collects the names that locations use. Their declarations may follow. */
export class UsedNames {
  readonly #used: UsedName[] = [];
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  add(used: UsedName): void {
    this.#used.push(used);
  }

  /** Tells whether the gateways of a cluster share the members of the upstream with this key. */
  sharesMembersOf(key: string): boolean {
    return this.#used.some(({ sharesMembers, name }) => sharesMembers === true && upstreamKey(name) === key);
  }

  /** Reports the names that no directive declares. */
  check(declared: Readonly<Record<UsedName['kind'], DeclaredNames>>): void {
    for (const used of this.#used) {
      const { names = [] } = declared[used.kind];
      if (declared[used.kind].has(used.name)) continue;
      const { message, ...details } = UNDECLARED[used.kind](used);
      const near = nearest(used.name, names);
      const hint = near === undefined ? {} : { hint: `did you mean "${near}"?` };
      this.#report.emerg(message, used.span, { ...details, ...hint });
    }
  }
}

/** Collects the absolute paths that are written while requests are served, each once. */
export class WrittenPaths {
  readonly #prefix: string;
  readonly #files = new Set<string>();
  readonly #directories = new Set<string>();
  readonly #shared = new Set<string>();
  readonly #state = new Set<string>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  add(written: WrittenFiles = {}): void {
    const { files = [], directories = [], sharedDirectories = [], stateDirectories = [] } = written;
    const addTo = (found: Set<string>, paths: readonly string[]): void => {
      for (const path of paths) found.add(resolve(this.#prefix, path));
    };
    addTo(this.#files, files);
    addTo(this.#directories, [...directories, ...stateDirectories]);
    addTo(this.#shared, sharedDirectories);
    addTo(this.#state, stateDirectories);
  }

  /** Adds the error log of the main context, or its default path. */
  addMain({ errorLogs }: CoreConfig): void {
    const isDefault = !errorLogs && existsSync(resolve(this.#prefix, 'logs'));
    const logs = errorLogs ?? (isDefault ? [{ path: 'logs/error.log' }] : []);
    this.add({ files: logs.flatMap((log) => ('path' in log && log.path !== 'stderr' ? log.path : [])) });
  }

  get paths(): Required<WrittenFiles> {
    return {
      files: [...this.#files],
      directories: [...this.#directories],
      sharedDirectories: [...this.#shared],
      stateDirectories: [...this.#state],
    };
  }
}
