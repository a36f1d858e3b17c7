import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { placeOf, type Report, type Span } from '../../grammar/index.ts';
import type { CoreConfig, WrittenFiles } from '../contract/index.ts';
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
    if (conflict === undefined) return;
    const { span: firstSpan } = first;
    this.#report.emerg(conflict, span, {
      rule: 'duplicate-directive',
      ...(firstSpan && {
        hint: declaredAt(firstSpan),
        related: [{ span: firstSpan, label: 'first declared here' }],
      }),
    });
  }

  get declarations(): readonly ZoneDeclaration[] {
    return [...this.#byName.values()].map(({ zone }) => zone);
  }
}

function declaredAt(span: Span): string {
  const { file, line, column } = placeOf(span);
  return `first declared at ${file}:${line}:${column}`;
}

/** Collects the absolute paths that serving requests writes, each once. */
export class WrittenPaths {
  readonly #prefix: string;
  readonly #files = new Set<string>();
  readonly #directories = new Set<string>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  add({ files = [], directories = [] }: WrittenFiles = {}): void {
    for (const file of files) this.#files.add(resolve(this.#prefix, file));
    for (const directory of directories) this.#directories.add(resolve(this.#prefix, directory));
  }

  /** Adds the error log of the main context, or its default path. */
  addMain({ errorLogs }: CoreConfig): void {
    const isDefault = !errorLogs && existsSync(resolve(this.#prefix, 'logs'));
    const logs = errorLogs ?? (isDefault ? [{ path: 'logs/error.log' }] : []);
    this.add({ files: logs.flatMap((log) => ('path' in log && log.path !== 'stderr' ? log.path : [])) });
  }

  get paths(): Required<WrittenFiles> {
    return { files: [...this.#files], directories: [...this.#directories] };
  }
}
